"""What the pages say, in every language of the interface: one dataclass a view.

A field is one text. One that counts is a pair (one, many); one that tells something names it in
braces, for `str.format`. A text that is missing in a language is a type error.
"""
