"""Well-known abbreviations of laws, by country, with the full names that they stand for.

An abbreviation of several laws ("CC") has a line in each country. It helps where exactly one law
of a collection has one of its full names.
"""

from __future__ import annotations

from functools import cache

_TABLE = """
# Germany
BGB = Bürgerliches Gesetzbuch
EGBGB = Einführungsgesetz zum Bürgerlichen Gesetzbuche
HGB = Handelsgesetzbuch
StGB = Strafgesetzbuch
StPO = Strafprozessordnung; Strafprozeßordnung; Schweizerische Strafprozessordnung
ZPO = Zivilprozessordnung; Zivilprozeßordnung; Schweizerische Zivilprozessordnung
GG = Grundgesetz; Grundgesetz für die Bundesrepublik Deutschland
GVG = Gerichtsverfassungsgesetz
FamFG = Gesetz über das Verfahren in Familiensachen und in den Angelegenheiten der freiwilligen \
Gerichtsbarkeit
VwGO = Verwaltungsgerichtsordnung
VwVfG = Verwaltungsverfahrensgesetz
VwVG = Verwaltungs-Vollstreckungsgesetz
SGG = Sozialgerichtsgesetz
FGO = Finanzgerichtsordnung
ArbGG = Arbeitsgerichtsgesetz
BVerfGG = Gesetz über das Bundesverfassungsgericht; Bundesverfassungsgerichtsgesetz
AO = Abgabenordnung
EStG = Einkommensteuergesetz; Einkommensteuergesetz 1988
KStG = Körperschaftsteuergesetz; Körperschaftsteuergesetz 1988
UStG = Umsatzsteuergesetz; Umsatzsteuergesetz 1994
GewStG = Gewerbesteuergesetz
GewO = Gewerbeordnung; Gewerbeordnung 1994
ErbStG = Erbschaftsteuer- und Schenkungsteuergesetz
GrEStG = Grunderwerbsteuergesetz; Grunderwerbsteuergesetz 1987
AktG = Aktiengesetz
GmbHG = Gesetz betreffend die Gesellschaften mit beschränkter Haftung; GmbH-Gesetz
GenG = Genossenschaftsgesetz
UmwG = Umwandlungsgesetz
InsO = Insolvenzordnung
ZVG = Gesetz über die Zwangsversteigerung und die Zwangsverwaltung
KSchG = Kündigungsschutzgesetz; Konsumentenschutzgesetz
TzBfG = Teilzeit- und Befristungsgesetz; Gesetz über Teilzeitarbeit und befristete Arbeitsverträge
BetrVG = Betriebsverfassungsgesetz
TVG = Tarifvertragsgesetz
ArbZG = Arbeitszeitgesetz
ArbSchG = Arbeitsschutzgesetz
BUrlG = Bundesurlaubsgesetz; Mindesturlaubsgesetz für Arbeitnehmer
EFZG = Entgeltfortzahlungsgesetz; Gesetz über die Zahlung des Arbeitsentgelts an Feiertagen und im \
Krankheitsfall
MuSchG = Mutterschutzgesetz
BEEG = Bundeselterngeld- und Elternzeitgesetz
MiLoG = Mindestlohngesetz
NachwG = Nachweisgesetz
AÜG = Arbeitnehmerüberlassungsgesetz
AGG = Allgemeines Gleichbehandlungsgesetz
WEG = Wohnungseigentumsgesetz; Gesetz über das Wohnungseigentum und das Dauerwohnrecht
BetrKV = Betriebskostenverordnung
ErbbauRG = Erbbaurechtsgesetz; Gesetz über das Erbbaurecht
GBO = Grundbuchordnung
BDSG = Bundesdatenschutzgesetz
UrhG = Urheberrechtsgesetz; Gesetz über Urheberrecht und verwandte Schutzrechte
PatG = Patentgesetz
MarkenG = Markengesetz; Gesetz über den Schutz von Marken und sonstigen Kennzeichen
UWG = Gesetz gegen den unlauteren Wettbewerb; Bundesgesetz gegen den unlauteren Wettbewerb
GWB = Gesetz gegen Wettbewerbsbeschränkungen
ProdHaftG = Produkthaftungsgesetz; Gesetz über die Haftung für fehlerhafte Produkte
StVG = Straßenverkehrsgesetz
StVO = Straßenverkehrs-Ordnung; Straßenverkehrsordnung
StVZO = Straßenverkehrs-Zulassungs-Ordnung
VVG = Versicherungsvertragsgesetz; Gesetz über den Versicherungsvertrag
VAG = Versicherungsaufsichtsgesetz
KWG = Kreditwesengesetz; Gesetz über das Kreditwesen
WpHG = Wertpapierhandelsgesetz
GwG = Geldwäschegesetz; Geldwäschereigesetz
BauGB = Baugesetzbuch
BauNVO = Baunutzungsverordnung
BImSchG = Bundes-Immissionsschutzgesetz
BNatSchG = Bundesnaturschutzgesetz; Gesetz über Naturschutz und Landschaftspflege
WHG = Wasserhaushaltsgesetz; Gesetz zur Ordnung des Wasserhaushalts
IFG = Informationsfreiheitsgesetz
AufenthG = Aufenthaltsgesetz
AsylG = Asylgesetz; Asylgesetz 2005
StAG = Staatsangehörigkeitsgesetz
BAföG = Bundesausbildungsförderungsgesetz
BBG = Bundesbeamtengesetz
OWiG = Gesetz über Ordnungswidrigkeiten
BtMG = Betäubungsmittelgesetz; Gesetz über den Verkehr mit Betäubungsmitteln
JGG = Jugendgerichtsgesetz
StVollzG = Strafvollzugsgesetz
RVG = Rechtsanwaltsvergütungsgesetz
GKG = Gerichtskostengesetz
BRAO = Bundesrechtsanwaltsordnung
SGB I = Sozialgesetzbuch Erstes Buch
SGB II = Sozialgesetzbuch Zweites Buch
SGB III = Sozialgesetzbuch Drittes Buch
SGB IV = Sozialgesetzbuch Viertes Buch
SGB V = Sozialgesetzbuch Fünftes Buch
SGB VI = Sozialgesetzbuch Sechstes Buch
SGB VII = Sozialgesetzbuch Siebtes Buch
SGB VIII = Sozialgesetzbuch Achtes Buch
SGB IX = Sozialgesetzbuch Neuntes Buch
SGB X = Zehntes Buch Sozialgesetzbuch; Sozialgesetzbuch Zehntes Buch
SGB XI = Sozialgesetzbuch Elftes Buch
SGB XII = Sozialgesetzbuch Zwölftes Buch
# Switzerland
ZGB = Schweizerisches Zivilgesetzbuch; Zivilgesetzbuch
OR = Obligationenrecht; Bundesgesetz betreffend die Ergänzung des Schweizerischen \
Zivilgesetzbuches (Fünfter Teil: Obligationenrecht)
BV = Bundesverfassung; Bundesverfassung der Schweizerischen Eidgenossenschaft
SchKG = Bundesgesetz über Schuldbetreibung und Konkurs
StGB = Schweizerisches Strafgesetzbuch
BGG = Bundesgesetz über das Bundesgericht; Bundesgerichtsgesetz
VwVG = Bundesgesetz über das Verwaltungsverfahren; Verwaltungsverfahrensgesetz
IPRG = Bundesgesetz über das Internationale Privatrecht
DSG = Bundesgesetz über den Datenschutz; Datenschutzgesetz
ArG = Bundesgesetz über die Arbeit in Industrie, Gewerbe und Handel; Arbeitsgesetz
ATSG = Bundesgesetz über den Allgemeinen Teil des Sozialversicherungsrechts
AHVG = Bundesgesetz über die Alters- und Hinterlassenenversicherung
IVG = Bundesgesetz über die Invalidenversicherung
BVG = Bundesgesetz über die berufliche Alters-, Hinterlassenen- und Invalidenvorsorge
UVG = Bundesgesetz über die Unfallversicherung
AVIG = Bundesgesetz über die obligatorische Arbeitslosenversicherung und die \
Insolvenzentschädigung
KVG = Bundesgesetz über die Krankenversicherung
SVG = Strassenverkehrsgesetz
RPG = Bundesgesetz über die Raumplanung; Raumplanungsgesetz
USG = Bundesgesetz über den Umweltschutz; Umweltschutzgesetz
DBG = Bundesgesetz über die direkte Bundessteuer
MWSTG = Bundesgesetz über die Mehrwertsteuer; Mehrwertsteuergesetz
URG = Bundesgesetz über das Urheberrecht und verwandte Schutzrechte
MSchG = Bundesgesetz über den Schutz von Marken und Herkunftsangaben
FusG = Bundesgesetz über Fusion, Spaltung, Umwandlung und Vermögensübertragung
AIG = Bundesgesetz über die Ausländerinnen und Ausländer und über die Integration
JStPO = Schweizerische Jugendstrafprozessordnung
CC, CCS = Code civil suisse; Codice civile svizzero
CO = Code des obligations; Codice delle obbligazioni; Loi fédérale complétant le Code civil \
suisse (Livre cinquième: Droit des obligations)
LP = Loi fédérale sur la poursuite pour dettes et la faillite
CPP = Code de procédure pénale suisse
CPC = Code de procédure civile suisse; Codice di diritto processuale civile svizzero
CP = Code pénal suisse; Codice penale svizzero
Cst., Cst = Constitution fédérale de la Confédération suisse
LTF = Loi sur le Tribunal fédéral; Loi fédérale sur le Tribunal fédéral
LDIP = Loi fédérale sur le droit international privé
# Austria
ABGB = Allgemeines bürgerliches Gesetzbuch
UGB = Unternehmensgesetzbuch
B-VG = Bundes-Verfassungsgesetz
MRG = Mietrechtsgesetz
EheG = Ehegesetz
EO = Exekutionsordnung
IO = Insolvenzordnung
AVG = Allgemeines Verwaltungsverfahrensgesetz 1991; Allgemeines Verwaltungsverfahrensgesetz
VStG = Verwaltungsstrafgesetz 1991; Verwaltungsstrafgesetz
BAO = Bundesabgabenordnung
AngG = Angestelltengesetz
ArbVG = Arbeitsverfassungsgesetz
AZG = Arbeitszeitgesetz
ASVG = Allgemeines Sozialversicherungsgesetz
JN = Jurisdiktionsnorm
# France, Belgium, Luxembourg
C. civ., CC = Code civil
C. trav. = Code du travail
C. pén., CP = Code pénal
C. com. = Code de commerce
C. consom., C. conso. = Code de la consommation
C. jud. = Code judiciaire
C. proc. civ., CPC = Code de procédure civile
C. proc. pén., CPP = Code de procédure pénale
CSS = Code de la sécurité sociale
CGI = Code général des impôts
LPF = Livre des procédures fiscales
CGCT = Code général des collectivités territoriales
CGPPP = Code général de la propriété des personnes publiques
CPI = Code de la propriété intellectuelle
CCH = Code de la construction et de l'habitation
C. urb. = Code de l'urbanisme
C. env. = Code de l'environnement
C. assur. = Code des assurances
C. mut. = Code de la mutualité
C. rur. = Code rural et de la pêche maritime
CSP = Code de la santé publique
CASF = Code de l'action sociale et des familles
C. éduc. = Code de l'éducation
C. route = Code de la route
CMF = Code monétaire et financier
CJA = Code de justice administrative
CRPA = Code des relations entre le public et l'administration
CESEDA = Code de l'entrée et du séjour des étrangers et du droit d'asile
COJ = Code de l'organisation judiciaire
CPCE = Code des procédures civiles d'exécution
CGFP = Code général de la fonction publique
CCP = Code de la commande publique
CIR 92 = Code des impôts sur les revenus 1992
CSA = Code des sociétés et des associations
CDE = Code de droit économique
C. pén. soc. = Code pénal social
# Spain
CE = Constitución Española
CC, C.c. = Código Civil; Code civil
CP = Código Penal; Ley Orgánica del Código Penal
CCom = Código de Comercio
LEC = Ley de Enjuiciamiento Civil
LECrim, LECr = Ley de Enjuiciamiento Criminal
LOPJ = Ley Orgánica del Poder Judicial
LOTC = Ley Orgánica del Tribunal Constitucional
LAU = Ley de Arrendamientos Urbanos
LPH = Ley sobre propiedad horizontal; Ley de Propiedad Horizontal
ET = Ley del Estatuto de los Trabajadores; Estatuto de los Trabajadores
LRJS = Ley reguladora de la jurisdicción social
LJCA = Ley reguladora de la Jurisdicción Contencioso-administrativa
LGSS = Ley General de la Seguridad Social
LPRL = Ley de Prevención de Riesgos Laborales
LISOS = Ley sobre Infracciones y Sanciones en el Orden Social
LPACAP = Ley del Procedimiento Administrativo Común de las Administraciones Públicas
LRJSP = Ley de Régimen Jurídico del Sector Público
LCSP = Ley de Contratos del Sector Público
LSC = Ley de Sociedades de Capital
LH = Ley Hipotecaria
LGT = Ley General Tributaria
LIRPF = Ley del Impuesto sobre la Renta de las Personas Físicas
LIVA = Ley del Impuesto sobre el Valor Añadido
LGDCU, TRLGDCU = Ley General para la Defensa de los Consumidores y Usuarios
LCD = Ley de Competencia Desleal
LDC = Ley de Defensa de la Competencia
LPI = Ley de Propiedad Intelectual
LOPD, LOPDGDD = Ley Orgánica de Protección de Datos Personales y garantía de los derechos digitales
LOEx = Ley Orgánica sobre derechos y libertades de los extranjeros en España y su integración social
EBEP = Ley del Estatuto Básico del Empleado Público; Estatuto Básico del Empleado Público
# Argentina
CCCN, CCyC, CCyCN = Código Civil y Comercial de la Nación
LCT = Ley de Contrato de Trabajo
CP = Código Penal de la Nación Argentina
CN = Constitución de la Nación Argentina; Constitución Nacional
CPCCN = Código Procesal Civil y Comercial de la Nación
CPPN = Código Procesal Penal de la Nación
CPPF = Código Procesal Penal Federal
LDC = Ley de Defensa del Consumidor; Defensa del Consumidor
LRT = Ley de Riesgos del Trabajo; Ley sobre Riesgos del Trabajo
LGS = Ley General de Sociedades
LCQ = Ley de Concursos y Quiebras
LNE = Ley Nacional de Empleo
LNPA = Ley Nacional de Procedimientos Administrativos; Ley de Procedimiento Administrativo
# Mexico, Chile, Colombia, Peru
CPEUM = Constitución Política de los Estados Unidos Mexicanos
LFT = Ley Federal del Trabajo
CCF = Código Civil Federal
CPF = Código Penal Federal
CNPP = Código Nacional de Procedimientos Penales
LGSM = Ley General de Sociedades Mercantiles
CFF = Código Fiscal de la Federación
LISR = Ley del Impuesto sobre la Renta
LFPC = Ley Federal de Protección al Consumidor
CPR = Constitución Política de la República
CdT = Código del Trabajo
COT = Código Orgánico de Tribunales
CST = Código Sustantivo del Trabajo
CGP = Código General del Proceso
CPACA = Código de Procedimiento Administrativo y de lo Contencioso Administrativo
CPP = Código Procesal Penal; Código de Procedimiento Penal
CPC = Código Procesal Civil; Código de Procedimiento Civil
LPAG = Ley del Procedimiento Administrativo General
# Italy
c.c., CC, cod. civ. = Codice civile
c.p., CP, cod. pen. = Codice penale
c.p.c., CPC, cod. proc. civ. = Codice di procedura civile
c.p.p., CPP, cod. proc. pen. = Codice di procedura penale
Cost. = Costituzione della Repubblica Italiana; Costituzione
disp. att. c.c. = Disposizioni per l'attuazione del Codice civile
TUB = Testo unico delle leggi in materia bancaria e creditizia
TUF = Testo unico delle disposizioni in materia di intermediazione finanziaria
TUIR = Testo unico delle imposte sui redditi
TUEL = Testo unico delle leggi sull'ordinamento degli enti locali
TULPS = Testo unico delle leggi di pubblica sicurezza
TUSL = Testo unico sulla salute e sicurezza sul lavoro
c. cons., cod. cons. = Codice del consumo
CAD = Codice dell'amministrazione digitale
CCII = Codice della crisi d'impresa e dell'insolvenza
c.p.a. = Codice del processo amministrativo
c. nav., cod. nav. = Codice della navigazione
c.d.s., CdS, cod. strada = Codice della strada; Nuovo codice della strada
l. fall., l.f. = Legge fallimentare
CPI, c.p.i. = Codice della proprietà industriale
# Portugal, Brazil
CC = Código Civil
CP = Código Penal
CPC = Código de Processo Civil
CPP = Código de Processo Penal
CT = Código do Trabalho
CRP = Constituição da República Portuguesa
CPA = Código do Procedimento Administrativo
CSC = Código das Sociedades Comerciais
CIRE = Código da Insolvência e da Recuperação de Empresas
CIRS = Código do Imposto sobre o Rendimento das Pessoas Singulares
NRAU = Novo Regime do Arrendamento Urbano
CF, CRFB = Constituição da República Federativa do Brasil; Constituição Federal
CLT = Consolidação das Leis do Trabalho
CDC = Código de Defesa do Consumidor
CTN = Código Tributário Nacional
CTB = Código de Trânsito Brasileiro
ECA = Estatuto da Criança e do Adolescente
LGPD = Lei Geral de Proteção de Dados Pessoais
LINDB = Lei de Introdução às normas do Direito Brasileiro
LEP = Lei de Execução Penal
# Poland
KC = Kodeks cywilny
KK = Kodeks karny
KP = Kodeks pracy
KPC = Kodeks postępowania cywilnego
KPK = Kodeks postępowania karnego
KPA = Kodeks postępowania administracyjnego
KSH = Kodeks spółek handlowych
KRO, KRiO = Kodeks rodzinny i opiekuńczy
KKS = Kodeks karny skarbowy
KKW = Kodeks karny wykonawczy
KW = Kodeks wykroczeń
PZP = Prawo zamówień publicznych
# Netherlands, Flanders
BW = Burgerlijk Wetboek
Sr = Wetboek van Strafrecht
Sv = Wetboek van Strafvordering
Rv = Wetboek van Burgerlijke Rechtsvordering
WvK = Wetboek van Koophandel
Awb = Algemene wet bestuursrecht
Gw = Grondwet; Grondwet voor het Koninkrijk der Nederlanden
Wft = Wet op het financieel toezicht
Fw = Faillissementswet
Vw = Vreemdelingenwet 2000
WOR = Wet op de ondernemingsraden
AWR = Algemene wet inzake rijksbelastingen
Wvw = Wegenverkeerswet 1994
WAZO = Wet arbeid en zorg
Ger.W. = Gerechtelijk Wetboek
Sw. = Strafwetboek
WER = Wetboek van economisch recht
WVV = Wetboek van vennootschappen en verenigingen
# Nordic countries
BrB = Brottsbalk; Brottsbalken
RB = Rättegångsbalk; Rättegångsbalken
RF = Regeringsformen
JB = Jordabalk; Jordabalken
ÄktB = Äktenskapsbalk
FB = Föräldrabalk
ÄB = Ärvdabalk
UB = Utsökningsbalk
MB = Miljöbalk
ABL = Aktiebolagslag
avtl. = Avtaleloven
strl. = Straffeloven
fvl. = Forvaltningsloven
aml. = Arbeidsmiljøloven
# Czechia, Slovakia, Hungary, Romania
OZ = Občanský zákoník
TZ = Trestní zákoník
OSŘ = Občanský soudní řád
Ptk. = Polgári Törvénykönyv
Btk. = Büntető Törvénykönyv
NCC, C. civ. = Codul civil; Cod civil
NCP, C. pen. = Codul penal; Cod penal
NCPC, C. proc. civ. = Codul de procedură civilă; Cod de procedură civilă
C. muncii = Codul muncii
# Turkey
TCK = Türk Ceza Kanunu
TMK = Türk Medeni Kanunu
TBK = Türk Borçlar Kanunu
TTK = Türk Ticaret Kanunu
HMK = Hukuk Muhakemeleri Kanunu
CMK = Ceza Muhakemesi Kanunu
İİK = İcra ve İflas Kanunu
# Russia, Ukraine
ГК, ГК РФ = Гражданский кодекс Российской Федерации
УК, УК РФ = Уголовный кодекс Российской Федерации
ТК, ТК РФ = Трудовой кодекс Российской Федерации
ГПК, ГПК РФ = Гражданский процессуальный кодекс Российской Федерации
УПК, УПК РФ = Уголовно-процессуальный кодекс Российской Федерации
НК, НК РФ = Налоговый кодекс Российской Федерации
ЦК, ЦКУ = Цивільний кодекс України
КК, ККУ = Кримінальний кодекс України
# Indonesia, Vietnam
KUHP = Kitab Undang-Undang Hukum Pidana
KUHAP = Kitab Undang-Undang Hukum Acara Pidana
BLDS = Bộ luật Dân sự
BLHS = Bộ luật Hình sự
BLLĐ = Bộ luật Lao động
BLTTDS = Bộ luật Tố tụng dân sự
BLTTHS = Bộ luật Tố tụng hình sự
# India
IPC = Indian Penal Code
CPC = Code of Civil Procedure
CrPC, Cr.P.C. = Code of Criminal Procedure
IEA = Indian Evidence Act
ICA = Indian Contract Act
BNS = Bharatiya Nyaya Sanhita
BNSS = Bharatiya Nagarik Suraksha Sanhita
BSA = Bharatiya Sakshya Adhiniyam
TPA = Transfer of Property Act
NI Act, N.I. Act = Negotiable Instruments Act
# United States
FRCP, Fed. R. Civ. P., Federal Rules = Federal Rules of Civil Procedure
FRCrP, Fed. R. Crim. P. = Federal Rules of Criminal Procedure
FRAP, Fed. R. App. P. = Federal Rules of Appellate Procedure
FRE, Fed. R. Evid. = Federal Rules of Evidence
UCC = Uniform Commercial Code
FLSA = Fair Labor Standards Act
FMLA = Family and Medical Leave Act
ADA = Americans with Disabilities Act
FCRA = Fair Credit Reporting Act
Bankruptcy Code = Title 11, United States Code
IRC = Internal Revenue Code; Title 26, United States Code
Internal Revenue Code = Title 26, United States Code
# United Kingdom, Ireland, Canada
CPR = Civil Procedure Rules
PACE = Police and Criminal Evidence Act
ERA = Employment Rights Act
TULRCA = Trade Union and Labour Relations (Consolidation) Act
FSMA = Financial Services and Markets Act
HRA = Human Rights Act
FA = Finance Act
EqA = Equality Act
FW Act, FWA = Fair Work Act
Charter = Canadian Charter of Rights and Freedoms; Charter of Fundamental Rights of the European \
Union
# The constitution, where a collection holds one
Constitution = Constitution of India; Constitution of Ireland; Constitution of Kenya; \
Constitution of the Republic of South Africa; Constitution of the United States; Constitution of \
the United States of America; Constitution of the Republic of Singapore; Constitution of Pakistan; \
Constitution of the Federal Republic of Nigeria; Federal Constitution; Commonwealth of Australia \
Constitution Act; Constitution du 4 octobre 1958; Constitution de la République française; \
Constitution fédérale de la Confédération suisse
Constitución = Constitución Española; Constitución de la Nación Argentina; Constitución Política \
de los Estados Unidos Mexicanos; Constitución Política de la República; Constitución Política de \
Colombia; Constitución Política del Perú
Constituição = Constituição da República Portuguesa; Constituição da República Federativa do Brasil
Constituição Federal = Constituição da República Federativa do Brasil
Costituzione = Costituzione della Repubblica Italiana
CCQ, C.c.Q. = Code civil du Québec; Civil Code of Québec
Cr. C. = Criminal Code
# European Union and treaties
GDPR = General Data Protection Regulation; Regulation (EU) 2016/679
DSGVO, DS-GVO = Datenschutz-Grundverordnung; Verordnung (EU) 2016/679
RGPD = Règlement général sur la protection des données; Reglamento general de protección de \
datos; Regulamento Geral sobre a Proteção de Dados; Règlement (UE) 2016/679
AVG = Algemene verordening gegevensbescherming; Verordening (EU) 2016/679
RODO = Ogólne rozporządzenie o ochronie danych; Rozporządzenie (UE) 2016/679
DSA = Digital Services Act; Regulation (EU) 2022/2065
DMA = Digital Markets Act; Regulation (EU) 2022/1925
AI Act = Artificial Intelligence Act; Regulation (EU) 2024/1689
CRR = Capital Requirements Regulation; Regulation (EU) No 575/2013
MAR = Market Abuse Regulation; Regulation (EU) No 596/2014
eIDAS = Regulation (EU) No 910/2014
TFEU, AEUV, TFUE = Treaty on the Functioning of the European Union; Vertrag über die \
Arbeitsweise der Europäischen Union; Traité sur le fonctionnement de l'Union européenne; \
Tratado de Funcionamiento de la Unión Europea
TEU, EUV, TUE = Treaty on European Union; Vertrag über die Europäische Union; Traité sur \
l'Union européenne; Tratado de la Unión Europea
ECHR, EMRK, CEDH, CEDU = European Convention on Human Rights; Convention for the Protection of \
Human Rights and Fundamental Freedoms; Konvention zum Schutz der Menschenrechte und \
Grundfreiheiten; Convention de sauvegarde des droits de l'homme et des libertés fondamentales
CISG = United Nations Convention on Contracts for the International Sale of Goods
"""


@cache
def abbreviations() -> dict[str, tuple[str, ...]]:
    """The full names that each abbreviation stands for, in any country."""
    full_names: dict[str, tuple[str, ...]] = {}
    for line in _TABLE.splitlines():
        short, is_entry, full = line.partition(" = ")
        if is_entry:
            for abbreviation in short.split(", "):
                names = full_names.get(abbreviation, ())
                full_names[abbreviation] = (*names, *full.split("; "))
    return full_names
