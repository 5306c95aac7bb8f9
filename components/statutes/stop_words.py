"""Words that carry no law, by language, in folded form (lower case, no accents but in Vietnamese).

Function words and question words only. Negations and the prepositions of time and order
("without", "before", "against", "between") stay in the text: in law they decide cases.
"""

from __future__ import annotations

_LISTS = {
    "en": """
        a about all am an and any are as at be because been being both but by can could d
        did do does doing don down each for from had has have having he her here hers
        herself him himself his how i if in into is it its itself just ll m me my myself of
        on or our ours ourselves re s she should so some such t than that the their theirs
        them themselves then there these they this those through to too up us ve very was we
        were what when where which while who whom whose why will with would you your yours
        yourself yourselves
    """,
    "fr": """
        a ai aie aient ait as au aux avec avez avons c ca car ce ceci cela celle celles
        celui ces cet cette ceux chez ci comme comment d dans de des donc dont du elle elles
        en es est et etait etant etre eu eux fut il ils j je l la le les leur leurs lorsqu
        lorsque lui m ma mais me mes moi mon n ne ni nos notre nous on ont or ou par peut
        peuvent peux pour pourquoi pouvez puis puisqu puisque qu quand que quel quelle
        quelles quels qui quoi s sa se sera seront ses si soi soit son sont suis sur t ta te
        tel telle telles tels tes toi ton tu un une vers vos votre vous y
    """,
    "de": """
        aber als am an auch auf aus bei bin bist da damit dann das dass dem den denn der des
        dessen die dies diese diesem diesen dieser dieses doch du durch ein eine einem einen
        einer eines er es etwa euch euer fur hat hatte ich ihm ihn ihnen ihr ihre ihrem
        ihren ihrer im in ins ist ja je jede jedem jeden jeder jedes kann konnen man mein
        meine meinem meinen meiner mich mir mit muss nach noch nun nur ob oder sein seine
        seinem seinen seiner sich sie sind so soll sowie um und uns unser unsere von vom
        wann war warum was weil welche welchem welchen welcher welches wenn wer werde werden
        wie wieso wir wird wo zu zum zur
    """,
    "nl": """
        aan al als bij daar dan dat de deze die dit doen door dus een eens en er ge haar had
        heb hebben heeft hem het hier hij hoe hun ik in is je kan kunnen maar me men met mij
        mijn mogen moet na naar of om omdat ons onze ook op over te toch toen tot u uit uw
        van veel voor waar waarom wanneer want waren was wat we wel welk welke werd wie wij
        wil worden wordt zal ze zelf zich zij zijn zo zou zulke
    """,
    "es": """
        a al algo algun alguna como con cual cuales cuando de del desde donde e el ella
        ellas ellos en era es esa esas ese eso esos esta estan estar estas este esto estos
        fue ha han hasta hay la las le les lo los mas me mi mis muy nos nuestra nuestro o os
        para pero por porque pueda puede pueden puedo que quien quienes se sea ser si sobre
        son su sus tambien te tiene tu tus un una unas uno unos y ya yo
    """,
    "vi": """
        ai à bao bị bởi các cái cần chỉ cho chứ có của cùng cũng đã đang đâu để đến đều điều
        đó được gì hay hoặc khi là lại lên mà mình mỗi một nào này nên nếu như những phải
        qua ra rằng rất rồi sao sau sẽ ta tại theo thế thì tôi trên trong từ và vào về vì
        với vậy
    """,
}

STOP_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}
"""Language to its stop words."""

# Characters: they leave the unigrams of Chinese, never the bigrams ("所有" keeps its "有").
STOP_WORDS["zh"] = frozenset(
    "的了是在和与及或之其这那有为以于等就也都将被把让向从由对给吗呢吧啊么什怎哪谁我你他她它们个"
)
