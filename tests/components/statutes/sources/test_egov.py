"""Law of Japan."""

import pytest

LAW = """<?xml version="1.0" encoding="UTF-8"?><Law Era="Reiwa" Lang="ja" LawType="Act" Num="9">
<LawNum>令和十三年法律第九号</LawNum><LawBody>
<LawTitle Abbrev="舟法,小舟法">舟の貸出しに関する法律</LawTitle>
<TOC><TOCChapter><ChapterTitle>第一章　総則</ChapterTitle></TOCChapter></TOC><MainProvision>
<Chapter Num="1"><ChapterTitle>第一章　総則</ChapterTitle>
<Article Num="1"><ArticleCaption>（<Ruby>舟<Rt>ふね</Rt></Ruby>の定義）</ArticleCaption>
<ArticleTitle>第一条</ArticleTitle><Paragraph Num="1"><ParagraphNum/><ParagraphSentence>
<Sentence>舟を貸す。</Sentence>
<Sentence Function="proviso">ただし、夜を除く。</Sentence></ParagraphSentence>
<Item Num="1"><ItemTitle>一</ItemTitle><ItemSentence><Column><Sentence>櫂</Sentence></Column>
<Column><Sentence>長いもの</Sentence></Column></ItemSentence></Item></Paragraph>
<Paragraph Num="2"><ParagraphNum>２</ParagraphNum><ParagraphSentence>
<Sentence>舟は浮く。</Sentence></ParagraphSentence></Paragraph></Article>
<Article Num="2:3"><ArticleTitle>第二条及び第三条</ArticleTitle><Paragraph><ParagraphNum/>
<ParagraphSentence><Sentence>削除</Sentence></ParagraphSentence></Paragraph></Article></Chapter>
</MainProvision><SupplProvision><SupplProvisionLabel>附　則</SupplProvisionLabel><Paragraph>
<ParagraphNum/><ParagraphSentence><Sentence>公布の日から施行する。</Sentence></ParagraphSentence>
</Paragraph></SupplProvision>
<SupplProvision AmendLawNum="令和一四年法律第一号"><SupplProvisionLabel>附　則</SupplProvisionLabel>
<Article Num="1"><ArticleTitle>第一条</ArticleTitle><Paragraph><ParagraphNum/><ParagraphSentence>
<Sentence>翌日から施行する。</Sentence></ParagraphSentence></Paragraph></Article></SupplProvision>
<AppdxTable><AppdxTableTitle>別表</AppdxTableTitle><RelatedArticleNum>（第一条関係）</RelatedArticleNum>
<TableStruct><Table><TableRow><TableColumn><Sentence>櫂</Sentence></TableColumn><TableColumn>
<Sentence>一　長い。</Sentence><Sentence>二　軽い。</Sentence></TableColumn></TableRow></Table>
</TableStruct></AppdxTable></LawBody></Law>"""


def test_a_law_with_its_supplementary_provisions(read_law):
    found = read_law(LAW, "413AC0000000009_20310601_000000000000000.xml")
    assert [(each.number, each.headings, each.text) for each in found.articles] == [
        (
            "第一条",
            ("第一章 総則",),
            "舟の定義\n舟を貸す。ただし、夜を除く。\n一 櫂 長いもの\n２ 舟は浮く。",
        ),
        ("第二条及び第三条", ("第一章 総則",), "削除"),
        ("附則", (), "公布の日から施行する。"),
        (
            "附則（令和一四年法律第一号）第一条",
            ("附則（令和一四年法律第一号）",),
            "翌日から施行する。",
        ),
        ("別表", (), "（第一条関係）\n櫂 | 一 長い。 二 軽い。"),
    ]
    first = found.articles[0]
    assert (first.id, first.law_id) == (
        "413AC0000000009@2031-06-01:第一条",
        "413AC0000000009",
    )
    assert first.source_url == "https://laws.e-gov.go.jp/law/413AC0000000009"
    assert first.law_names == ("令和十三年法律第九号", "舟法", "小舟法")
    assert found.articles[1].is_stub
    assert found.counted == {"left out": {"table of contents": 1}, "kept as text": {"table": 1}}


def test_an_answer_of_the_api_names_the_law(read_law):
    answer = f"<DataRoot><ApplData><LawId>413AC0000000009</LawId><LawFullText>{LAW[38:]}"
    first, *_ = read_law(f"{answer}</LawFullText></ApplData></DataRoot>").articles
    assert first.id == "413AC0000000009:第一条"


def test_main_provisions_without_articles_are_one(read_law):
    law = """<Law LawType="CabinetOrder"><LawNum>令和十三年政令第二号</LawNum><LawBody>
    <LawTitle>櫂令</LawTitle><MainProvision><Paragraph><ParagraphNum/><ParagraphSentence>
    <Sentence>櫂は長い。</Sentence></ParagraphSentence></Paragraph></MainProvision></LawBody></Law>"""
    (found,) = read_law(law).articles
    assert (found.number, found.text) == ("本則", "櫂は長い。")


def test_an_article_quoted_in_an_amendment_is_text(read_law):
    quoted = """<AmendProvision><NewProvision><Article><ArticleTitle>第七条</ArticleTitle>
    <Paragraph><ParagraphNum/><ParagraphSentence><Sentence>櫂は軽い。</Sentence></ParagraphSentence></Paragraph>
    </Article></NewProvision></AmendProvision></Paragraph></Article><Article Num="2:3">"""
    found = read_law(LAW.replace('</Paragraph></Article>\n<Article Num="2:3">', quoted))
    assert found.articles[0].text.endswith("２ 舟は浮く。\n第七条\n櫂は軽い。")
    assert found.counted["kept as text"] == {"quoted article": 1, "table": 1}


# Counted in the files: `Article` in `MainProvision`; `Article` in `SupplProvision`,
# `SupplProvision` without any, and annexes.
@pytest.mark.parametrize(
    ("file", "main", "beyond", "first", "last"),
    [
        (
            "129AC0000000089_20230614_505AC0000000053.xml.gz",
            1164,
            182 + 27,
            ("第一編 総則", "第一章 通則"),
            ("第五編 相続", "第十章 特別の寄与"),
        ),
        (
            "327AC0000000231_20240401_505AC0000000063.xml.gz",
            345,
            186 + 29 + 1,
            ("第一章 総則",),
            ("第十三章 罰則",),
        ),
        (
            "405AC0000000088_20240401_504AC0100000052.xml",
            48,
            21 + 2,
            ("第一章 総則",),
            ("第七章 補則",),
        ),
    ],
)
def test_real_laws(read_sample, file, main, beyond, first, last):
    law = ("MainProvision", "SupplProvision", "AppdxTable")
    found = read_sample(f"formats/egov_jp/{file}", law, ("Rt",))
    own = [each for each in found.articles if not each.number.startswith(("附則", "別表"))]
    assert (len(own), len(found.articles) - len(own)) == (main, beyond)
    assert (own[0].number, own[0].headings, own[-1].headings) == ("第一条", first, last)
    assert found.share == 1
