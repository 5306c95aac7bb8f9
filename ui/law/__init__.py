"""Place in the law: the views of the law itself, made on the server."""
