"""Notes in place of repealed law, told from law that speaks of repeal."""

import pytest

from components.statutes.repeal import is_repeal_note

NOTES = [
    "(weggefallen)",
    "(weggefallen)\n-",
    "(1) (weggefallen)\n(2) (weggefallen)",
    "Kahnmiete\n(weggefallen)",
    "(jetzt § 12)",
    "Aufgehoben",
    "§ 7 (aufgehoben)",
    "Aufgehoben durch Ziff. II 3 des BG vom 8. Okt. 1998 über die Kähne und Fähren, mit Wirkung "
    "seit 1. Jan. 2001 (AS 1999 17; BBl 1997 II 4). Siehe jedoch Art. 5 SchlT.",
    "Eingefügt durch Ziff. I des BG vom 3. Mai 1985 (AS 1986 9). Aufgehoben durch Ziff. I des BG "
    "vom 7. Juni 2002, mit Wirkung seit 1. Juli 2003 (AS 2003 12).",
    "Außer Kraft getreten am 31. Dezember 2008.",
    "Abrogé.",
    "Article abrogé par la loi n° 88-12 du 3 mars 1988, art. 4.",
    "Introduit par le ch. I de la LF du 3 mai 1985 (RO 1986 9). Abrogé par le ch. I de la LF du "
    "7 juin 2002, avec effet au 1er juil. 2003 (RO 2003 12).",
    "(Sans objet)",
    "Cet article a été abrogé par l'ordonnance du 2 mai 2011.",
    "((ARTICOLO ABROGATO DALLA L. 3 MARZO 1988, N. 12))",
    "Soppresso dall'art. 4 del D.P.R. 5 maggio 1992, n. 30.",
    "(Derogado)",
    "**(Suprimido)**",
    "*(Artículo derogado por art. 9 de la* [Ley\nN° 1.234](https://example.org/ley)* B.O. "
    "3/4/1991. Vigencia: desde su publicación en el\nBoletín.)*",
    "Alquiler de barcas.\n(Artículo derogado por art. 9 de la Ley N° 1.234 B.O. 3/4/1991)",
    "Sin efecto.",
    "(Revogado pela Lei nº 1.234, de 1991)",
    "(Derogat per la Llei 4/1991)",
    "[Vervallen per 01-04-2003]",
    "Repealed. Pub. L. 88–12, title II, § 4(b), Mar. 3, 1988, 102 Stat. 7]",
    "[Reserved]",
    "[Omitted]",
    "Spent.",
    "This section was repealed by Act 4 of 1991.",
    "S. 12 repealed (1.4.1998) by Barges Act 1997 (c. 7), Sch. 2",
    "[Renumbered § 14]",
    "[Formerly 12.030]",
    ". . . . . . . . . .",
    "Berths\n(1) . . . . . . . .\n(2) . . . . . . . .",
    "–",
    "[1995 c.12 §3; 1997 c.4 §9; repealed by 2001 c.7 §50]",
    "Paadi üürimine\n[Kehtetu - RT I 2003, 12, 7 - jõust. 01.07.2003]",
    "(Ophævet)",
    "Opphevet ved lov 3 mai 1991 nr. 12.",
    "Har upphävts genom lag (1991:123).",
    "3 § on kumottu L:lla 3.5.1991/12.",
    "3–5 § on kumottu L:lla 3.5.1991/12.",
    "[Kehtetud]",
    "(Se deroga)",
    "(Shfuqizuar)",
    "(uchylony)",
    "Zrušen zákonem č. 12/1991 Sb.",
    "Hatályon kívül helyezte: 1991. évi IV. törvény 3. §",
    "Abrogat prin Legea nr. 12/1991.",
    "Neteko galios nuo 1991-05-03",
    "(Izslēgts ar 03.05.1991. likumu, kas stājas spēkā no 01.07.1991.)",
    "(črtan)",
    "Prestao da važi (Sl. glasnik 12/1991)",
    "Утратила силу. - Федеральный закон от 03.05.1991 N 12-ФЗ.",
    "{Статтю 7 виключено на підставі Закону № 12 від 03.05.1991}",
    "(Отм. - ДВ, бр. 12 от 1991 г.)",
    "Καταργήθηκε με το άρθρο 4 του ν. 12/1991.",
    "(Mülga: 3/5/1991-12/4 md.)",
    "삭제 <1991.5.3>",
    "第三十八条から第八十四条まで　削除",
    "（刪除）",
    "(được bãi bỏ)",
    "Dihapus.",
]
NEAR_MISSES = [
    "Die Fährverordnung wird aufgehoben.",
    "§ 5 wird aufgehoben.",
    "Die §§ 5 bis 7 sind aufgehoben.",
    "Ist der Grund weggefallen, so endet die Miete.",
    "(weggefallen) Die Miete endet am letzten Tag.",
    "Der Fährmann trägt die Kosten.\n(weggefallen)",
    "(1) Der Fährmann trägt die Kosten.\n(2) (weggefallen)",
    "Fähren\n(1) (weggefallen)\n(2) Der Fährmann haftet.",
    "La loi du 3 mars 1988 est abrogée.",
    "L'article 5 du code des barques est abrogé.",
    "Sont abrogés les articles 5 à 7 du code des barques.",
    "Gli articoli 5 e 7 sono abrogati.",
    "Queda derogada la Ley 12/1991.",
    "Se deroga la Ley 12/1991.",
    "Se derogan los artículos 5 a 7 de la Ley 12/1991.",
    "Quedará sin efecto la venta de la barca perdida.",
    "Revogam-se as disposições em contrário.",
    "Artikel 5 vervalt op 1 juli 2003.",
    "The Barge Act 1991 is repealed.",
    "Section 5 is repealed.",
    "Sections 5 and 7, and the item relating to them, are repealed.",
    "Repeal of the Barge Act\nSection 7 of the Barge Act is repealed.",
    "Reserved matters",
    "Reserved seats on a ferry shall be marked.",
    "Repealed. The Minister may by order restore a ferry that was closed.",
    "Revoked by the harbour master, a licence ends at once.",
    "Repealed by this section, the Barge Act 1991 shall still apply to wherries.",
    "Formerly licensed ferries keep their berth.",
    "Spent fuel is kept apart.",
    "Loven af 3. maj 1991 ophæves.",
    "Lag (1991:123) om pråmar ska upphöra att gälla.",
    "Признать утратившим силу Закон о баржах.",
    "民法第七百条を削除する。",
    "Virkeområde",
    "A ferry is moored at its berth.\n(2) . . . . . . . .",
    "",
]


@pytest.mark.parametrize("text", NOTES)
def test_a_note_is_recognised(text: str) -> None:
    assert is_repeal_note(text)


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_law_that_speaks_of_repeal_is_no_note(text: str) -> None:
    assert not is_repeal_note(text)


def test_a_note_is_found_fast_in_hostile_text() -> None:
    for text in ("1 a " * 140, "((" * 290, "repealed by 1 " * 40, "inserted 1. " * 45):
        assert not is_repeal_note(text) or text.startswith("repealed")
