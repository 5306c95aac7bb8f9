"""Citations as single countries write them: a table by language, and one reader for all of it.

"형법 제329조의2", "民法第184條第1項", "6:162 BW", "art. 22 § 1 k.p.", "12 kap. 8 § jordabalken",
"§ 12, stk. 2", "7 §:n 2 momentti", "п. 3 ч. 1 ст. 81 ТК РФ", "TBK m. 49", "มาตรา ๑๑๒ วรรคสอง".

`finding.py` reads the words that English, French, German, Spanish, Italian, Portuguese and
Vietnamese share. A form that begins like theirs ("art. 12", "§ 5") is read here only if something
shows its country: a level, the law's name, or how a list is joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from components.statutes.citations.hints import LawReference, chinese_law_hint
from components.statutes.citations.patterns import (
    CHINESE_NUMERAL,
    chinese_integer,
    parse_number,
    unread_after,
)
from components.statutes.sources.units import UNIT_WORDS, UnitWords


class Forms(NamedTuple):
    """How the texts of one language cite (regular expressions, in small letters).

    Attributes:
        words: Plain text, separated by "|". A text without any of it is not searched.
        before, after: Inflected words for an article in front of its number and behind it, besides
            those of `UNIT_WORDS`.
        chapter: What stands between the number of a chapter and the article's: "1 kap. 3 §".
        number: The article's number.
        letter: How a letter of its own follows the number: "§ 19 b".
        level: Words for a part of an article in front of its number: "lid 2".
        level_after: Words behind it: "2 momentti", "tweede lid".
        ordinals: Numbers of such parts in words, as stems in order; "/" parts variants.
        mark: The sign in front of the number of an article or of such a part: 第, 제.
        leading: Whether the parts may stand in front of the article: "ч. 2 ст. 12".
        small: Parts too small to have a level.
        joins, to: Words that join two numbers, or the ends of a range.
        counted: What follows a number that counts something.
        of: What leads from a citation to the law's name behind it.
        law: Names of laws as they stand next to a citation.
        bare: Abbreviations of laws that need no unit, with how the number follows or precedes
            them: "RL 21:1", "6:162 BW".
        own, same: "this Act", "the same Act".
        dashed: Whether numbers have dashes of their own: Norwegian "§ 9-2".
    """

    words: str
    before: str = ""
    after: str = ""
    chapter: str = ""
    number: str = (
        r"\d{1,4}(?:[.:/-]\d{1,4})*(?:\s?\^\s?\d{1,2}|[¹²³⁰⁴-⁹]{1,2})?(?:[^\W\d_]{1,2}(?!\w))?"
    )
    letter: str = ""
    level: str = ""
    level_after: str = ""
    ordinals: str = ""
    mark: str = ""
    leading: bool = False
    small: str = ""
    joins: str = ""
    to: str = ""
    counted: str = ""
    of: str = ""
    law: str = ""
    bare: str = ""
    own: str = ""
    same: str = ""
    dashed: bool = False


_YEAR = r"(?:1[89]|20)\d\d"
_SCANDINAVIAN_LETTER = r"\s(?:[a-hj-z](?![\w.)])|(?-i:i)(?=\s?(?:[,;)§]|$)))"
_CYRILLIC_CAPITALS = r"(?-i:[А-ЯІЇЄҐ]{2,5}|КоАП|КЗпП|КУпАП)(?!\w)"

FORMS: dict[str, Forms] = {
    "nl": Forms(
        words="artikel|bw|awb|lid |avg| sr",
        before=r"artt?\.?|artikel(?:en)?",
        level=r"lid|leden|sub|onder|aanhef en onder|onderdeel",
        level_after="lid",
        ordinals="eerste tweede derde vierde vijfde zesde zevende achtste negende tiende",
        small=r"(?:eerste|tweede|laatste) (?:volzin|zin|alinea)",
        joins="en|of",
        to="tot en met|t/m|tot",
        counted="dag|dagen|weken|maanden|jaar|euro|uur",
        of="van het|van de|van|uit de|uit het",
        law=r"(?:boek \d+ )?(?-i:BW|AVG|Awb|Sr|Sv|Rv|Gw|WvSr|WvSv|WvK|Fw|Wft|Wpg|WOR|Vw 2000|Opw"
        r"|WVW 1994|UAVG|Wob|Woo|EVRM|VWEU)(?!\w)"
        r"|(?-i:[A-Z]\w+\s)?(?:burgerlijk )?wetboek(?: van(?-i: [A-Z]\w+){1,2})?"
        r"|(?:algemene |gemeente)?\w*wet(?!\w)(?: (?:bestuursrecht|op (?:de|het) \w+|\d{4}))?",
        bare=r"(?P<bare>\d{1,2}:\d{1,4}[a-z]{0,2})(?=(?:,? lid \d+)? (?-i:BW|Awb|Wft)(?!\w))",
        own="deze wet",
        same="die wet|dezelfde wet",
    ),
    "pl": Forms(
        words="k.|kc|kp|kk|kr|ks|ust|kodeks|pkt|konstyt|rodo|praw|ordyn|rozporz|artyku| i |oraz"
        "|lub|.p.|.a.",
        before=r"art\.?|artykuł\w*|§§?",
        number=r"\d{1,4}(?:\[\d{1,2}[a-z]?\]|\s?\^\s?(?:\d{1,2}|\{\d{1,2}[a-z]?\})|[¹²³⁰⁴-⁹]{1,2})?"
        r"(?:[^\W\d_]{1,2}(?!\w))?",
        level=r"§|ust\.|ustęp\w*|pkt\.?|punkt\w*|lit\.|lit(?=\s[a-z]\b)|tiret",
        small=r"(?:zd\.|zdanie) \w+|in fine",
        joins="i|oraz|lub|albo",
        to="do",
        counted="dni|dzień|tygodni|miesi[ęą]c|lat|rok|zł|godzin|osób",
        of="z",
        law=r"(?-i:k\.\s?(?:[a-z]\.\s?){0,3}[a-z]\.|[a-z]\.(?:[a-z]\.){1,5}"
        r"|K[CPKRSOWHA]{1,3}(?!\w)|RODO"
        r"|pr\.\s[a-z]+\.?)"
        r"|kodeks\w*(?: (?:postępowania \w+|rodzinn\w+(?: i opiekuńcz\w+)?|spółek handlow\w+"
        r"|karn\w+(?: (?:skarbow|wykonawcz)\w+)?|cywiln\w+|pracy|wykroczeń|wyborcz\w+))?"
        r"|konstytucji(?: rp)?|ordynacji podatkowej|(?-i:[Pp]raw[ao] [a-ząćęłńóśźż]+(?:ego|e))"
        rf"|ustaw[yaęie]+(?: z (?:dnia )?\d{{1,2}} \w+ {_YEAR}(?: ?r\.)?)?"
        r"(?: o (?:\w+ ){0,2}\w+)?"
        rf"|rozporządzeni[ae]",
        own=r"niniejsz\w+ ustaw\w+|niniejsz\w+ kodeks\w*",
        same=r"t(?:ej|ejże|ego) (?:samej )?(?:ustawy|kodeksu)",
    ),
    "sv": Forms(
        words="§|kap|:",
        after=r"§§?",
        chapter=r"kap(?:\.|itlet)?",
        number=r"\d{1,4}(?:[a-z](?!\w))?",
        letter=_SCANDINAVIAN_LETTER,
        level=r"punkten|p\.(?=\s?\d)|st\.(?=\s?\d)",
        level_after=r"stycket|st\.?|punkten|p\.",
        ordinals="första andra tredje fjärde femte sjätte sjunde åttonde",
        small=r"(?:första|andra|tredje|sista) meningen",
        joins="och|eller|samt",
        to="till|till och med",
        counted="dagar|veckor|månader|år|kronor|kr",
        of="i",
        law=r"(?:nya )?(?-i:[A-ZÅÄÖ][A-Za-zÅÄÖåäö]{0,4}[A-ZÅÄÖ])(?!\w)"
        r"|(?!(?:denna|samma|den)\s)(?:\w+- och )?\w*(?:balken|balk|lagen|lag|förordningen"
        r"|regeringsformen)s?(?!\w)"
        r"(?: \(\d{4}:\d{1,4}\))?(?: om (?:\w+ och )?\w+)?",
        bare=r"(?<!\w)(?P<bare_law>(?-i:JB|BrB|RB|RF|FB|ÄB|ÄktB|MB|ABL|UB|IL|SkL|PBL|HB|TF|YGL"
        r"|SFB))"
        r" (?P<bare>\d{1,2}:\d{1,3}[a-z]?)(?!\w|:\d)",
        own="denna (?:lag|balk)|denna förordning",
        same="samma (?:lag|balk)",
    ),
    "da": Forms(
        words="stk|lov|litra|bekendtg|og §",
        before=r"§§?|art\.?|artikel",
        letter=_SCANDINAVIAN_LETTER,
        level=r"stk\.?|nr\.?|litra|afsnit",
        small=r"\d\. (?:og \d\. )?pkt\.|(?:første|andet|sidste) punktum",
        joins="og|eller|samt",
        to="til",
        counted="dage?|uger|måneder|år|kr|kroner|pkt",
        of="i",
        law=r"(?:lov|bekendtgørelse|lovbekendtgørelse)(?: nr\. \d+ af \d{1,2}\. \w+ \d{4})?"
        r"(?: om (?:\w+ og )?\w+)?|\w*(?:lovens?|ordningens?)(?!\w)"
        r"|(?-i:FAL|RPL|LL|ABL|GDPR|EMRK|KBL)(?!\w)",
        own="denne lov",
        same="samme lov",
    ),
    "no": Forms(
        words="§|lov|artikkel",
        before="§§?|art\\.?|artikkel",
        letter=_SCANDINAVIAN_LETTER,
        level=r"nr\.?|bokstav|litra|ledd|punkt",
        level_after="ledd|punktum",
        ordinals="første annet/andre tredje fjerde femte sjette sjuende/syvende åttende",
        joins="og|eller|samt",
        to="til",
        counted="dager|uker|måneder|år|kroner",
        of="i",
        law=r"(?:lov(?: \d{1,2}\.? \w+ \d{4} nr\.? \d+)?(?: om (?:\w+ og )?\w+)|\w*(?:lov(?:en|a)s?"
        r"|forskrift(?:en)?)(?!\w))"
        r"|(?-i:(?:aml|strl|avtl|husll|forvl|fvl|tvl|skl|al|kjl|fkjl|asl|strpl|utl|pbl|pasl"
        r"|ekteskapsl)\."
        r"|Grl\.|EMK|GDPR)",
        own="denne lov(?:en)?",
        same="samme lov",
        dashed=True,
    ),
    "fi": Forms(
        words="§|luvun|luku|:",
        after=r"§(?::\w{1,5})?",
        chapter=r"luvun|luku|luvussa|l\.",
        number=r"\d{1,4}(?:[a-z](?!\w))?",
        letter=_SCANDINAVIAN_LETTER,
        level_after=r"mom(?:entt|ent)\w*|mom\.|koh(?:ta|da|d|ti)\w*|alakoh\w+",
        ordinals="ensimmäi toi kolma neljä viide",
        joins="ja|tai|sekä",
        to="–",
        counted="päivää|viikkoa|kuukautta|vuotta|euroa",
        law=r"(?:\w+ ){1,3}annetun lain|(?!(?:tämän|saman)\s)\w*(?:lain|laki|laissa|kaaren|kaari"
        r"|asetuksen"
        r"|asetus)(?: \(\d{1,4}/\d{4}\))?"
        r"(?!\w)|(?-i:[A-ZÄÖ][A-Za-zÄÖäö]{0,5}[LK])(?!\w)",
        bare=r"(?<!\w)(?P<bare_law>(?-i:RL|OK|MK|PK|KK|UK|RVL|OYL|TSL|VahL|AOYL|KSL|PKL|ROL|AL))"
        r" (?P<bare>\d{1,2}:\d{1,3}[a-z]?)(?!\w|:\d)",
        own="tämän lain",
        same="saman lain|mainitun lain",
    ),
    "ru": Forms(
        words="ст|п.|§",
        before=r"ст\.\s?ст\.|ст\.|стать(?:я|и|е|ю|ей|ёй|ям|ями|ях)|статей",
        level=r"ч\.|част[ьиюях]+|п\.|пп\.|подп\.|пункт\w{0,3}|подпункт\w{0,3}|абз\.|абзац\w{0,3}"
        r"|лит\.",
        ordinals="перв втор трет четв пят шест седьм восьм девят десят",
        leading=True,
        joins="и|или|а также",
        to="по|до",
        counted="дн|ден|недел|месяц|лет|год|руб|час|минут|человек|%",
        law=rf"{_CYRILLIC_CAPITALS}(?: (?-i:РФ|РСФСР|РБ|РК))?(?!\w)"
        r"|(?:\w+(?:ого|его|ному)\s){0,2}(?:процессуальн\w+ )?кодекс[ау]?(?: (?-i:РФ"
        r"|Российской Федерации))?"
        r"|кодекса (?:об \w+ \w+|торгового мореплавания)"
        r"|конституции(?: (?-i:РФ|Российской Федерации))?"
        r"|(?:федеральн\w+ (?:конституционн\w+ )?)?закон[ау]?(?!\w)(?: (?-i:РФ))?"
        r"(?: от \d[\d.]+(?: г\.| года)?)?(?: № ?\S+(?<![,.;]))?(?: «[^»]{1,80}»)?"
        r"|(?-i:ФЗ)(?: от \d[\d.]+)?(?: № ?\S+(?<![,.;]))?(?: «[^»]{1,80}»)?",
        own=r"настоящ\w+ (?:кодекса|закона|федерального закона)",
        same=r"(?:того|этого) же (?:кодекса|закона)|названного (?:кодекса|закона)",
        dashed=True,
    ),
    "uk": Forms(
        words="ст",
        before=r"ст\.\s?ст\.|ст\.|статт(?:я|і|ею|ю|ям|ями|ях)|статей",
        level=r"ч\.|частин[аиіоюу]+|п\.|пп\.|підп\.|пункт\w{0,3}|підпункт\w{0,3}|абз\."
        r"|абзац\w{0,3}",
        ordinals="перш друг трет четверт п'ят/п’ят шост сьом восьм дев'ят/дев’ят десят",
        leading=True,
        joins="і|й|та|або",
        to="до|по",
        counted="дн|місяц|рок|грн|годин|осіб|%",
        law=rf"{_CYRILLIC_CAPITALS}(?: (?-i:України))?(?!\w)"
        r"|(?:\w+ого ){0,2}кодексу(?: законів про працю)?(?: (?-i:України))?"
        r"|конституції(?: (?-i:України))?"
        r"|закону(?: (?-i:України))?(?: від \d[\d.]+(?: р\.)?)?(?: № ?\S+(?<![,.;]))?"
        r"(?: «[^»]{1,80}»| \"[^\"]{1,80}\")?",
        own=r"цього (?:кодексу|закону)",
        same=r"того ж (?:кодексу|закону)|зазначеного (?:кодексу|закону)",
        dashed=True,
    ),
    "bg": Forms(
        words="чл|§",
        before=r"чл\.\s?чл\.|чл\.|член(?:а|ове)?",
        level=r"ал\.|алинея|т\.|точка|б\.|буква|изр\.",
        joins="и|или",
        to="до",
        counted="дн|месец|годин|лв|лева",
        of="от|на",
        law=r"(?:(?-i:Закона|ЗАКОНА|Кодекса|Наказателния кодекс|Конституцията|Наредбата)"
        r"(?: (?:за|на) \w+(?: (?:и|за|на|от) \w+| \w+)?)?|(?-i:[А-Я]{2,6})(?!\w))",
        own=r"този (?:закон|кодекс)",
        same=r"същия (?:закон|кодекс)",
        dashed=True,
    ),
    "tr": Forms(
        words="madde|m.|md.|mad.",
        before=r"(?:(?:ek|geçici|mükerrer) )?madde|md\.|mad\.|m\.",
        after=r"(?:['’]?\s?(?:inci|nci|ıncı|ncı|uncu|ncu|üncü|ncü)\s)?madde(?:si|ler|leri|nin"
        r"|sinin|sinde"
        r"|sine|sini|ye|de|den)?",
        number=r"\d{1,4}(?:/(?-i:[A-Z])(?!\w))?",
        level=r"f\.|fıkra|b\.|bent|/(?=\d)|(?<=\d)-(?=[a-z]\b)",
        level_after=r"(?:fıkra|bend|bent)\w*",
        ordinals="birinci ikinci üçüncü dördüncü beşinci altıncı",
        small=r"\d\. cümle",
        joins="ve|veya|ile",
        to="ila|ilâ",
        counted="gün|ay|yıl|lira|tl|saat",
        law=r"(?-i:(?:TBK|TMK|TCK|HMK|CMK|İYUK|TTK|İİK|KVKK|AY|FSEK|TKHK|İşK|BK|VUK"
        r"|MK))(?:['’]\w+)?(?!\w)"
        r"|\d{3,4} sayılı (?:(?-i:[A-ZÇĞİÖŞÜ]\w*) ){0,4}(?:kanun|yasa|khk)\w*(?:['’]\w+)?"
        r"|(?:(?-i:[A-ZÇĞİÖŞÜ]\w*) ){1,4}(?:kanun|yasa)\w*(?:['’]\w+)?|anayasa\w*(?:['’]\w+)?",
        own=r"(?:işbu|bu) (?:kanun|yasa)\w*",
        same=r"(?:aynı|anılan) (?:kanun|yasa)\w*",
    ),
    "el": Forms(
        words="άρθρ|αρθρ|αρ|ακ|πκ|κπολδ",
        before=r"[άα]ρθρ(?:ο|ου|α|ων|\.)|αρ\.",
        level=r"παρ\.|παράγραφο[ςυ]|παράγραφος|§|περ\.|περίπτωση|στοιχ\.|στοιχείο|αριθ\.",
        small=r"εδ\.\s?\w{1,2}['΄´]?|εδάφιο \w+",
        joins="και|ή|κ",
        to="έως|εως|ως|μέχρι",
        counted="ημέρ|μήν|έτη|ευρώ|ώρες",
        of="του|της|των",
        law=r"(?:(?-i:ΑΚ|ΠΚ|ΚΠολΔ|ΚΠΔ|ΕισΝΑΚ|ΚΔΔ|ΚΔΔιαδ|ΕΣΔΑ|ΓΚΠΔ|ΣΛΕΕ)(?!\w)|συντάγματος"
        r"|(?-i:Συντ\.)"
        r"|(?:ν|π\.?δ|ν\.?δ|α\.?ν)\.?\s?\d{1,4}/\d{4}"
        r"|(?:αστικού|ποινικού|εμπορικού) κώδικα|κώδικα (?:ποινικής|πολιτικής"
        r"|διοικητικής) δικονομίας)",
        bare=r"(?<!\w)(?P<bare_law>(?-i:ΑΚ|ΠΚ|ΚΠολΔ|ΚΠΔ)) (?P<bare>\d{1,4}[Α-Ω]?)(?![\w.,/]\w)",
        own=r"παρόντος(?: νόμου| κώδικα)?",
        same=r"ίδιου (?:νόμου|κώδικα)",
    ),
    "ro": Forms(
        words="c.pen|alin.|alin (|alineat|lit.|cod |codul|lege|constituți|articol|pct| și | şi "
        "| sau |^|oug|o.u.g|h.g",
        before=r"art\.?|articol(?:ul|ului|ele|elor)?",
        level=r"alin\.|alineatul|alin(?=\s\()|lit\.|litera|pct\.|punctul",
        small=r"teza (?:a )?(?:[ivx]+(?:-a)?|\w+)",
        joins="și|şi|sau|ori",
        to="până la|la",
        counted="zile|luni|ani|lei|ore",
        of="din|al|a",
        law=r"(?:(?:noul(?:ui)? )?cod(?:ul|ului)? (?:civil|penal|fiscal|muncii|rutier|administrativ"
        r"|de procedur[ăa] (?:civil[ăa]|penal[ăa]|fiscal[ăa]))|(?-i:N?C\.?\s?(?:civ|pen|proc"
        r"|muncii|fisc)\.(?:\s?(?:civ|pen)\.)?"
        r"|C\.(?:civ|pen)\.|(?:NCC|NCP|NCPC|NCPP|CPC|CPP|RGPD|CC|CP)(?!\w))"
        r"|constituți[aei]+(?: româniei)?"
        r"|leg(?:ea|ii)(?: \w+)? nr\. ?\d+/\d{4}|(?:o\.?u\.?g|o\.?g|h\.?g)\.? nr\. ?\d+/\d{4})",
        own=r"(?:prezent(?:a|ei) (?:lege|legi)|prezentul(?:ui)? cod)",
        same=r"(?:aceeași lege|aceluiași cod|același cod)",
        dashed=True,
    ),
    "id": Forms(
        words="pasal",
        level=r"ayat|huruf|angka|butir",
        joins="dan|atau|serta|juncto|jo\\.",
        to="sampai dengan|s\\.d\\.|hingga",
        counted="hari|bulan|tahun|rupiah|jam|orang",
        of="dalam",
        law=r"(?-i:KUH Perdata|KUHPerdata|KUHPidana|KUHPer|KUHP|KUHAP|KUHD|HIR|RBg)(?!\w)"
        r"|kitab undang-undang hukum (?:acara )?(?:pidana|perdata|dagang)"
        rf"|(?:(?:undang-undang|peraturan pemerintah|peraturan presiden|(?-i:UU|PP|Perpres|Perma))"
        rf"(?: republik indonesia)?(?: no(?:mor|\.) ?\d+ tahun {_YEAR}| (?-i:[A-Z]{{2,5}}(?!\w)"
        rf"|(?: ?[A-Z][a-z]\w+){{1,4}}))"
        r"(?: tentang(?: (?-i:[A-Z]\w+)| dan(?= (?-i:[A-Z]))){1,6})?)"
        rf"|(?-i:UUD)(?: (?-i:NRI))?(?: tahun)? {_YEAR}|undang-undang dasar {_YEAR}",
        own="undang-undang ini|peraturan ini",
        same="undang-undang tersebut",
    ),
    "th": Forms(
        words="มาตรา|ม.",
        before=r"มาตรา|(?<![\u0e00-\u0e7f])ม\.",
        number=r"\d{1,4}(?:/\d{1,3})?(?!\d)(?:\s?(?:ทวิ|ตรี|จัตวา|เบญจ|ฉ|สัตต|อัฏฐ|นว"
        r"|ทศ)(?![ก-๛]))?",
        level=r"วรรค|อนุมาตรา",
        ordinals="หนึ่ง/แรก สอง สาม สี่ ห้า หก",
        joins="และ|หรือ|กับ|ประกอบ",
        to="ถึง|ถึงมาตรา",
        counted="วัน|เดือน|ปี|บาท",
        of="แห่ง|ของ|ตาม",
        law=r"(?:ประมวล(?:กฎหมาย|รัษฎากร)[\u0e01-\u0e4e]{0,50}"
        r"|(?:พระราชบัญญัติ|พระราชกำหนด|พระราชกฤษฎีกา|พ\.ร\.บ\.\s?)(?!นี้"
        r"|ดังกล่าว)[\u0e01-\u0e4e]{2,60}"
        r"(?: พ\.ศ\. ?\d{4})?|รัฐธรรมนูญ[\u0e01-\u0e4e]{0,40}"
        r"|ป\.(?:อ|พ\.พ|วิ\.อ|วิ\.พ|รัษฎากร|ที่ดิน)\.?)",
        own="(?:พระราชบัญญัติ|ประมวลกฎหมาย|พระราชกำหนด)นี้",
        same="(?:พระราชบัญญัติ|ประมวลกฎหมาย)(?:ดังกล่าว|เดียวกัน)",
    ),
    "ko": Forms(
        words="조",
        before=r"제|(?<=[법률령칙])|(?<=[법률령칙]\s)",
        number=r"\d{1,4}\s?조(?:\s?의\s?\d{1,3}){0,2}",
        mark="제",
        level_after="항|호|목",
        joins="및|또는|와|과|·",
        to="내지|부터|에서|~",
        small="본문|단서|전단|후단",
        law=r"「[^「」\n]{1,60}」|(?:(?:[가-힣·]+ ){1,6}관한 )?[가-힣]*"
        r"(?:특례법|법률|헌법|법|시행령|시행규칙|규칙|조례)",
        own="이 법|본법|이 영",
        same="동법|같은 법|위 법",
    ),
    "zh": Forms(  # Chinese and Japanese
        words="条|條",
        # After the name of a law 第 may be left out, "民法典1079条"; not after 依法 or 办法.
        before=r"第|(?<=法)(?<![依合非违違执執方做办]法)(?<!(?<!公)司法)|(?<=[典例令則则律》」])",
        number=rf"{CHINESE_NUMERAL}(?:-\d{{1,3}})?\s?[条條](?:\s?[之のノ]\s?{CHINESE_NUMERAL}){{0,2}}",
        mark="第",
        level_after="[款项項号號目]",
        joins="或者|以及|及び|又は|若しくは|並びに|および|または|もしくは|ならびに|及|和|与|與|或",
        to="至|到|から|ないし|乃至",
    ),
    "cs": Forms(
        words="odst|písm|zákon|čl|ústav|listin|o. s.|o.s.|oz|zák.|tr.",
        before=r"§§?|čl\.|článe?k\w*",
        level=r"odst\.|odstavc\w+|písm\.|písmen\w+|bod\w{0,2}",
        small=r"vět[ay] \w+",
        joins="a|nebo|či",
        to="až",
        counted="dn[ůí]|měsíc|let|rok|kč|hodin",
        law=r"(?:občansk|trestní|správní|obchodní|stavební)\w* (?:zákoník|řád)[ue]?m?"
        r"|zákoníku práce"
        r"|(?:nového )?(?-i:OZ|TZ|ZP|OSŘ|TŘ|ZOK|NOZ)(?!\w)|o\. ?[sz]\. ?ř\.|o\. ?z\.|tr\. ?(?:zák"
        r"|ř)\.|zák\. práce"
        r"|zákona(?: č\. ?\d+/\d{4} sb\.)?(?: o \w+(?: \w+)?)?|(?:ústavy|listiny)(?: čr)?",
        own="tohoto zákona|tohoto zákoníku",
        same="téhož zákona|téhož zákoníku",
    ),
    "sk": Forms(
        words="ods|písm|zákon|čl|ústavy",
        before=r"§§?|čl\.|člán\w+",
        level=r"ods\.|odsek\w*|písm\.|písmen\w+|bod\w{0,2}",
        small=r"vety? \w+",
        joins="a|alebo|až",
        to="až",
        counted="dní|mesiac|rok|eur|hodín",
        law=r"(?:občiansk|trestn|obchodn|civiln|správn)\w* (?:zákonník|poriadk"
        r"|sporov\w+ poriadk)\w{0,2}"
        r"|zákonníka práce|trestného zákona|(?-i:OZ|TZ|ZP|CSP|TP)(?!\w)"
        r"|zákona(?: č\. ?\d+/\d{4} z\. ?z\.)?(?: o \w+(?: \w+)?)?|ústavy(?: sr)?",
        own="tohto zákona|tohto zákonníka",
        same="toho istého zákona",
    ),
    "hu": Forms(
        words="§|cikk",
        after=r"\.?\s?§(?:-\w{1,5})?|\.?\s?cikk\w{0,5}",
        number=r"(?:\d{1,2}:)?\d{1,4}(?:/[a-z](?!\w))?\.?",
        level=r"(?<=\))\s?(?=\()",
        level_after=r"bekezdés\w*|bek\.|pont\w*",
        joins="és|vagy|valamint",
        to="–",
        counted="nap|hónap|év|forint|ft",
        of="az?",
        law=r"(?:(?:új )?(?-i:(?:Ptk|Btk|Mt|Pp|Be|Kp|Ákr|Ket|Tao|Fgytv|Hpt|Gt|Kbt|Infotv)\."
        r"|Alaptörvény)"
        r"|\d{4}\. évi [ivxlc]+\. (?:törvény|tv\.))(?:\w*)",
        own="e törvény",
        same="ugyanezen törvény",
    ),
    "lt": Forms(
        words="straipsn|str.",
        after=r"straipsn\w{1,4}|str\.",
        number=r"\d{1,4}(?:[.-]\d{1,4})*(?:[¹²³⁰⁴-⁹]{1,2})?",
        level_after=r"dal(?:is|ies|yje|į|imi)|d\.|punkt\w{1,3}|p\.",
        joins="ir|ar|arba",
        to="–",
        counted="dien|mėnes|met|eur",
        law=r"(?-i:(?:LR )?(?:CK|BK|DK|CPK|BPK|ANK))(?!\w)|(?:\w+(?:inio|inių|ijos|ų"
        r"|aus) )?(?:proceso )?kodekso"
        r"|darbo kodekso|konstitucijos|\w+ įstatymo",
        own="šio (?:įstatymo|kodekso)",
        same="to paties (?:įstatymo|kodekso)",
    ),
    "lv": Forms(
        words="pant",
        after=r"pant(?:s|a|ā|u|i|am|os|iem|us)(?!\w)",
        number=r"\d{1,4}(?:\.?[¹²³⁰⁴-⁹]{1,2})?\.?",
        level_after=r"daļ(?:a|as|ā|u)|punkt\w{1,3}|apakšpunkt\w{1,3}",
        ordinals="pirm otr treš ceturt piekt sest septīt",
        joins="un|vai",
        to="līdz",
        counted="dien|mēneš|gad|eiro",
        law=r"(?:civil|krimināl|darba |komerc|civilprocesa )likuma|satversmes"
        r"|likuma \"[^\"]{1,60}\""
        r"|likuma „[^”\"]{1,60}[”\"]|(?-i:CL|KL|DL|CPL)(?!\w)",
        own="šā likuma",
        same="tā paša likuma",
    ),
    "et": Forms(
        words="lg|lõi|sead|§|võs|kars|tls",
        before=r"§§?|artikk\w+",
        letter="",
        level=r"lg|lõi[gk]\w*|l(?=\s\d)|p(?=\s\d)|punkt\w{0,2}",
        joins="ja|või|ning",
        to="kuni",
        counted="päeva|kuud|aastat|eurot",
        law=r"(?-i:VÕS|TsÜS|AÕS|KarS|TLS|TsMS|KrMS|PKS|PärS|ÄS|HMS|PS|LKindlS|KOKS)(?!\w)"
        r"|\w+(?:seaduse|seadustiku|seadus|seadustik|põhiseaduse)",
        own="käesoleva seaduse",
        same="sama seaduse",
    ),
    "sl": Forms(
        words="člen",
        after=r"\.?\s?člen(?:a|u|i|om|oma|ov)?(?!\w)",
        number=r"\d{1,4}\.?(?:\s?[a-zč](?!\w))?",
        level_after=r"odstav(?:ek|ka|ku|kom)|točk[aeio]|alinej[aei]",
        ordinals="prv drug tretj četrt pet šest",
        leading=True,
        joins="in|ali|ter",
        to="do",
        counted="dni|mesec|let|evr",
        law=r"(?-i:OZ|KZ-1|ZDR-1|ZPP|ZGD-1|ZKP|SPZ|ZUP|Ustave|URS)(?:-\d)?(?!\w)"
        r"|(?:obligacijskega|kazenskega) zakonika|ustave(?: rs)?|zakona o (?:\w+ )?\w+",
        own="tega zakona(?:ika)?",
        same="istega zakona",
    ),
    "hr": Forms(
        words="član|čl.",
        number=r"\d{1,4}(?:\.?[a-z](?!\w))?\.?",
        before=r"član(?:ak|ka|ku|kom|ci|aka)|čl\.",
        level=r"stav(?:ak|ka|ku|ci)|st\.|toč(?:ka|ke|ki)|t\.|toč\.|alineja",
        joins="i|ili|te",
        to="do",
        counted="dana|mjesec|godin|kuna|eur",
        law=r"(?-i:ZOO|KZ|ZR|ZPP|OZ|ZTD|ZKP|URH)(?!\w)(?: RH)?"
        r"|zakona o (?:\w+ )?\w+|kaznenog zakona|ustava(?: republike hrvatske| rh)?",
        own="ovog(?:a)? zakona",
        same="istog(?:a)? zakona",
    ),
    "is": Forms(
        words="gr.|grein",
        after=r"gr(?:\.|ein\w{0,3})(?:\s(?P<letter>[a-h])(?![\w)]))?",
        number=r"\d{1,3}\.",
        level_after=r"mgr\.|málsgrein\w{0,3}|tölul\.|tl\.|málsl\.",
        leading=True,
        joins="og|eða",
        to="til",
        law=r"(?:almennra )?\w*(?:laga|lög|stjórnarskrár\w*)(?: nr\. ?\d+/\d{4})?",
        own="laga þessara|þessara laga",
        same="sömu laga",
    ),
}

LEADS_TO_LAW = "|".join(forms.of for forms in FORMS.values() if forms.of)
"""What leads from a citation to the law's name, in any of these languages."""


class Patterns(NamedTuple):
    """The compiled patterns of a language.

    Attributes:
        head: A unit with its numbers, or numbers with their unit.
        number: A further number of a list.
        join: What stands between two numbers; group "to" if it makes a range of them.
        level: A part of an article with its number; "value", "ordinal" or "bracket" holds it.
        after, before: The law's name behind a citation ("law", "own" or "same") or in front of it.
        ordinals: The values of ordinals, by stem.
    """

    head: re.Pattern[str]
    number: re.Pattern[str]
    join: re.Pattern[str]
    level: re.Pattern[str]
    after: re.Pattern[str]
    before: re.Pattern[str]
    ordinals: dict[str, str]

    def value(self, level: re.Match[str]) -> str:
        """The number of a part of an article; "" for one that is too small."""
        value = (level["value"] or level["ordinal"] or level["bracket"] or "").lower()
        if re.fullmatch(CHINESE_NUMERAL, value):
            return str(chinese_integer(value))
        return next((n for stem, n in self.ordinals.items() if value.startswith(stem)), value)


_LETTER = r"(?:[^\W\d_]|(?P<twice>[^\W\d_])(?P=twice)|[ivx]{2,4})"
_NEVER = r"(?!)"
_WITHOUT_BLANKS = frozenset({"ko", "th", "zh"})
# Units of several languages: something else must show whose they are.
_SHARED = re.compile(
    r"(?:art(?:t?\.?|ikel\w?|ikkel|icles?|icol[oi]|igos?|ículos?)|§§?|m\.|p\.|str\.|l\.)",
    re.IGNORECASE,
)
_RARE_NUMBER = re.compile(r"[\^¹²³⁰⁴-⁹]")
_APART = re.compile(r"\s?(?:[,;).?!]|$)")  # behind a letter that is not a word
# "of the Act": whichever law the text is about.
_GENERIC_NAMES = frozenset(
    re.findall(
        r"\w+",
        "ustawy ustawie ustawę kodeksu kodeksie rozporządzenia wet wetboek lagen lagens lag balken"
        " lov loven lovens lova lain laki laissa asetuksen kaaren закона закон закону кодекса"
        " кодексу kanun kanunu kanunun kanununun zákona zakona kodekso likuma seaduse 법 법률",
    )
)
_PLURAL = frozenset({"artikelen", "artt", "artt.", "§§"})
_LONGEST_LIST = 30  # numbers behind one unit
_REACH = 100  # characters in front of a citation that are searched for its law
_NEAR = 60  # and for its parts
_DEEPEST = 5  # levels
_RANGE = re.compile(r"(\d+)-(\d+)")
_THOUSANDS = re.compile(r"\d\.\d{3}")
# "第六条 各航空单位…" at the beginning of a line is an article itself, not a citation.
_PRINTED_HEAD = re.compile(r"(?:\n|[。；] ?)\s*$")


@cache
def _patterns(language: str) -> Patterns:
    """The patterns of a language, compiled when a text first holds its words."""
    forms = FORMS[language]
    before, after = _units(language)
    dense = language in _WITHOUT_BLANKS
    edge, end, blank = ("", "", r"\s?") if dense else (r"(?<!\w)", r"(?!\w)", r"\s")
    level, level_after, law = (
        each or _NEVER for each in (forms.level, forms.level_after, forms.law)
    )
    joins = rf"{blank}(?-i:{forms.joins or _NEVER}){blank}"  # Polish "i", but not "I"
    to = rf"\s?[–—]\s?|{blank}(?:{forms.to or _NEVER}){blank}"
    join = rf"\s?[,;、，]\s?(?:(?-i:{forms.joins or _NEVER}){blank})?|{joins}"
    also = rf"(?:{join}|{to})"
    letter = rf"(?:{forms.letter})?" if forms.letter else ""
    number = rf"(?:{forms.number}{letter})" + ("" if dense else r"(?!\w|[.:^-]\d)")
    counted = rf"(?!\s?(?:{forms.counted}))" if forms.counted else ""
    stems = {
        stem: str(value)
        for value, variants in enumerate(forms.ordinals.split(), 1)
        for stem in variants.split("/")
    }
    digits = CHINESE_NUMERAL if language == "zh" else r"\d{1,3}"
    ordinal = "|".join([digits, *(rf"{stem}\w*" for stem in stems)])
    mark = rf"(?:{forms.mark}\s?)?" if forms.mark else ""
    numbered = rf"{mark}[(（]?(?:{ordinal})[.)）]?"
    if dense:
        further = rf"{numbered}\s?(?:{level_after})?"
    else:  # "ust. 2 i 3", "lid 1 en lid 2"; but in "3 § 2 st. och 4 §" an article follows
        unit = "|".join(filter(None, (after, forms.chapter, forms.counted))) or _NEVER
        further = rf"(?:(?P=word)\s?)?(?:\(?\d{{1,3}}\)?|[^\W\d_]\))(?!\w|[.:/]\d|\.?\s?(?:{unit}))"
    of = rf"(?:(?:{forms.of}){blank})?" if forms.of else ""
    named = rf"(?:(?P<own>{forms.own or _NEVER})|(?P<same>{forms.same or _NEVER})|(?P<law>{law}))"
    apart = "" if dense else r"(?:(?<=[.-])|(?![^\W\d_]))"  # not "lõike" of "lõikes 1"
    heads = []
    if before:
        heads.append(rf"{edge}(?P<unit>{before})\s?(?:(?:nr\.?|№)\s)?(?P<number>{number})")
    if after:
        chapter = rf"(?:(?P<chapter>\d{{1,2}}(?:\s?[a-z])?)\s?(?:{forms.chapter or _NEVER})\s?)?"
        heads.append(
            rf"(?<![\w.:/-]){chapter}(?P<numbers>{number}(?:(?:{also}|-){number}){{0,8}})"
            # In "Title 29 § 825" the sign belongs to the number behind it.
            rf"\.?\s?(?P<unit_after>{after})(?!\w)(?!\s?\d(?!\d?\.?\s?(?:{level_after})))"
        )
    if forms.bare:
        heads.append(forms.bare)
    level = (
        rf"[.,]?\s?(?<![^\W\d_])(?P<word>{level}){apart}\s?[(«„\"']?"
        rf"(?P<value>\d{{1,3}}(?:[a-z](?!\w))?|{ordinal}|{_LETTER}){end}[)»”\"'΄´]?"
        rf"(?:(?:{also}|-){further})*"
        rf"|[.,]?\s?{mark}[(（]?(?P<ordinal>{ordinal}|[^\W\d_](?=\)|목))[.)）]?"
        rf"(?:{also}{numbered})*\s?(?:{level_after}){end}"
        rf"(?:{also}{numbered}\s?(?:{level_after}){end})*"
        rf"|\.?\s?{mark}[(（](?P<bracket>{digits}[a-z]?|[a-z]{{1,2}})[)）](?:{also}\(\w{{1,3}}\))*"
        rf"|[.,]?\s?(?P<small>{forms.small or _NEVER}){end}"
    )
    return Patterns(
        head=_compiled("|".join(heads)),
        number=_compiled(rf"(?!(?:19|20)\d\d(?!\w)){number}{counted}"),
        join=_compiled(rf"(?P<to>{to})|{join}"),
        level=_compiled(level),
        after=_compiled(rf"\.?\s?,?\s?\(?{of}{named}"),
        before=_compiled(rf"{edge}{named}(?:(?<![sz])['’]?s)?(?:상|의)?[\s,:(]*$"),
        ordinals=stems,
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _units(language: str) -> tuple[str, str]:
    """The words in front of a number and behind it."""
    forms, words = FORMS[language], UNIT_WORDS.get(language, UnitWords())
    return _alternatives(forms.before, words.before), _alternatives(forms.after, words.after)


def _alternatives(pattern: str, words: str) -> str:
    """A pattern and some words in one expression, longer ones first; "" if there are none."""
    escaped = [re.escape(word) for word in sorted(words.split(), key=len, reverse=True)]
    return "|".join(filter(None, (pattern, *escaped)))


class _Enumeration(NamedTuple):
    """The citations of one enumeration and how far it reaches, its law's name included."""

    start: int
    end: int
    citations: list[dict[str, Any]]


def find_in_forms_of_countries(text: str) -> Iterator[dict[str, Any]]:
    """The fields of each `Citation` that is written in a form of the table, in order.

    Where two languages read one place, the one that reads more of it wins.
    """
    lowered = text.lower()
    found = [
        enumeration
        for language, forms in FORMS.items()
        if any(word in lowered for word in forms.words.split("|"))
        for enumeration in _enumerations(text, language)
    ]
    found.sort(key=lambda each: each.start)  # stable: of equals, the table's first
    chosen: list[_Enumeration] = []
    for each in found:
        if not chosen or each.start >= chosen[-1].end:
            chosen.append(each)
        elif each.end - each.start > chosen[-1].end - chosen[-1].start:
            chosen[-1] = each
    for each in chosen:
        yield from each.citations


def _enumerations(text: str, language: str) -> Iterator[_Enumeration]:
    """What a language's forms read in a text."""
    forms, patterns = FORMS[language], _patterns(language)
    position = taken = 0  # where to search on, and what belongs to the last citation
    while head := patterns.head.search(text, position):
        bare_law = head.groupdict().get("bare_law")
        blanks = len(head[0]) - len(head[0].lstrip())
        start = head.start("bare") if bare_law else head.start() + blanks
        leading: list[re.Match[str]] = []
        if forms.leading:
            leading, start = _levels_before(patterns, text, max(taken, start - _NEAR), start)
        items: list[dict[str, Any]] = []
        certain = _is_certain(text, head)
        unit = head.groupdict().get("unit") is not None
        plural = _unit(head) in _PLURAL
        following: re.Match[str] | None = head
        join: re.Match[str] | None = None
        while following and len(items) < _LONGEST_LIST:
            position = following.end()
            for item in _items(text, following, patterns, forms):
                if join and join["to"]:
                    items[-1] |= {"through": item["number"], "end": item["end"]}
                else:
                    items.append(item)
                join = None
            if not items:
                break
            levels, position = _levels_after(patterns, text, position, plural)
            items[-1] |= {"paragraph": _joined(map(patterns.value, levels)), "end": position}
            certain = certain or any(_shows_language(level) for level in levels)
            join = patterns.join.match(text, position)
            following = join and patterns.head.match(text, join.end())
            if following and _unit(following)[:1] != _unit(head)[:1]:
                following = None  # Portuguese "§ 1º do art. 5"
            ends = bool(items[-1]["paragraph"]) and not (forms.mark or plural)
            if join and not following and unit and not ends:
                following = patterns.number.match(text, join.end())
            if join and following:
                certain = certain or join[0].strip(" –—,;") != ""
        if not items or (language == "zh" and _is_printed_head(text, start, position)):
            continue
        items[0]["start"] = start  # with the levels in front of it
        if leading:
            items[0]["paragraph"] = _joined(map(patterns.value, leading))
        hint, reference, (reach_start, reach_end) = _law(
            patterns, text, language, (taken, start), position
        )
        if unit and language not in _WITHOUT_BLANKS:
            for item in items:
                end = item["end"]
                item["unread"] = unread_after(text, end, levels=item["paragraph"] is not None)
                if item is not items[-1] and text[end : end + 1].isspace():
                    item.pop("longer", None)  # "art. 5 i 6" is not article 5i
        if bare_law:
            hint, reference, reach_start = bare_law, "named", head.start()
        if not certain and (reach_start, reach_end) == (start, position):
            continue
        taken = max(position, reach_end)
        group = (start, position)
        common = {"law_hint": hint, "reference": reference, "kind": "article", "group": group}
        citations = [item | common | {"text": text[item["start"] : item["end"]]} for item in items]
        yield _Enumeration(min(start, reach_start), taken, citations)


def _unit(head: re.Match[str]) -> str:
    groups = head.groupdict()
    return (groups.get("unit") or groups.get("unit_after") or "").lower()


def _is_certain(text: str, head: re.Match[str]) -> bool:
    """Whether a unit or a number is of no language but this one: "стаття 5", "§ 19 b"."""
    unit = _unit(head)
    if "unit_after" in head.groupdict() and head["unit_after"]:
        return unit not in ("str.", "p.")
    return (
        _SHARED.fullmatch(unit) is None
        or _RARE_NUMBER.search(head[0]) is not None
        or (
            head[0][-2].isspace()
            and head[0][-1].isalpha()
            and _APART.match(text, head.end()) is not None
        )
    )


def _shows_language(level: re.Match[str]) -> bool:
    """Whether a part of an article is in words of one language: not "(2)", "§ 2", "nr. 2"."""
    return not level["bracket"] and level["word"] not in ("§", "/", "nr", "nr.", "Nr.")


def _is_printed_head(text: str, start: int, end: int) -> bool:
    """Whether 第六条 begins a line, with a blank behind it: it is an article, not a citation."""
    return text[end : end + 1].isspace() and (
        _PRINTED_HEAD.search(text, max(0, start - 4), start) is not None
    )


def _items(
    text: str, match: re.Match[str], patterns: Patterns, forms: Forms
) -> Iterator[dict[str, Any]]:
    """The numbers of a head, or one further number of a list; ranges with their ends."""
    groups = match.groupdict()
    if groups.get("numbers"):
        span = match.span("numbers")
        printed = [(each.start(), each[0]) for each in patterns.number.finditer(text, *span)]
    else:
        number = groups.get("number") or groups.get("bare") or match[0]
        printed = [(match.start(), number)]
    chapter = f"{groups['chapter']} kap. " if groups.get("chapter") else ""
    apart = f"{groups['unit']} " if (groups.get("unit") or "").lower().endswith(" madde") else ""
    letter = f" {groups['letter']}" if groups.get("letter") else ""
    item: dict[str, Any] = {}
    for start, number in printed:
        parsed = parse_number(f"{apart}{chapter}{number}{letter}")
        if parsed is None:
            break
        core = parsed.core
        end = start + len(number) if len(printed) > 1 else match.end()
        between = text[item["end"] : start] if item else ""
        if _is_range(patterns, between):
            item |= {"through": core, "end": end}
            continue
        if item:
            yield item
        item = {"start": start, "end": end, "number": core, "paragraph": None}
        item |= {"division": parsed.division or None}
        # "제3조의22" is not a range, though its canonical form has a hyphen.
        ends = _RANGE.search(number)
        if ends and not forms.dashed and core == ends[0] and int(ends[1]) < int(ends[2]):
            item["otherwise"] = (ends[1], ends[2])
        elif forms is FORMS["ro"] and _THOUSANDS.fullmatch(core):
            item["otherwise"] = (core.replace(".", ""), None)
    if item:
        yield item


def _is_range(patterns: Patterns, between: str) -> bool:
    """Whether what stands between two numbers makes them the ends of a range."""
    join = patterns.join.fullmatch(between)
    return between.strip() == "-" or (join is not None and join["to"] is not None)


def _levels_after(
    patterns: Patterns, text: str, position: int, plural: bool
) -> tuple[list[re.Match[str]], int]:
    """The parts named behind a number, from the outside in, and where they end.

    Behind a plural unit the numbers that follow are articles: "artikelen 5 lid 1, 7 en 9".
    """
    levels: list[re.Match[str]] = []
    while len(levels) < _DEEPEST and (level := patterns.level.match(text, position)):
        if level["word"] and any(level["word"] == outer["word"] for outer in levels):
            break  # "ust. 2, ust. 3"
        levels.append(level)
        one = plural and level["value"] and not level["word"].lower().endswith(("en", "s"))
        position = level.end("value") if one else level.end()
    return levels, position


def _levels_before(
    patterns: Patterns, text: str, since: int, start: int
) -> tuple[list[re.Match[str]], int]:
    """The parts named in front of an article, from the outside in, and where they begin."""
    levels: list[re.Match[str]] = []
    end = since
    for level in patterns.level.finditer(text, since, start):
        if text[end : level.start()].strip(" ,"):
            levels = []
        levels.append(level)
        end = level.end()
    if not levels or text[end:start].strip(" ,"):
        return [], start
    return levels[::-1], levels[0].end() - len(levels[0][0].lstrip(" ,."))


def _joined(levels: Iterable[str]) -> str | None:
    return "".join(f"({level})" for level in levels if level) or None


def _law(
    patterns: Patterns, text: str, language: str, before: tuple[int, int], end: int
) -> tuple[str | None, LawReference, tuple[int, int]]:
    """The law of a citation text[before[1]:end], how it is named, and the span of its name."""
    since, start = before
    if language == "zh":
        hint, reference = chinese_law_hint(text, start)
        if hint == "法":  # "the Act", in a regulation
            hint, reference = None, "none"
        return hint, reference, (start, end)
    match = patterns.after.match(text, end) or patterns.before.search(
        text, max(since, start - _REACH), start
    )
    if match is None:
        return None, "none", (start, end)
    if match["law"] and match["law"].lower() in _GENERIC_NAMES:
        return None, "none", match.span()
    if match["law"]:
        return match["law"].strip(" 「」"), "named", match.span()
    return None, "own" if match["own"] else "same", match.span()
