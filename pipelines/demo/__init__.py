"""The Statutes of Aldermere: an invented law and lay questions, for the demo and the tests."""
