"""An article with an exception and a list, and the terms of a question about it."""

from components.statutes.lexical import analyzer

DEPOSIT = """(1) A deposit may not exceed two months' rent. It is kept by the Registry.
(2) The landlord returns it within 30 days of the day the keys are given back.
(3) Paragraph (2) does not apply where the tenant owes rent. The landlord then keeps:
(a) the rent owed;
(b) the cost of letters, unless none was sent.
(4) The Registry publishes its address every year."""

TERMS = frozenset(analyzer("en")("when do I get my deposit back after I give back the keys"))
