"""Function words: all of English, and the most frequent of other languages to recognise these by.

No word of the English list has a content of its own, so that "won" (of "won't"), "haven", "mine"
and "need" are not among them.
"""
# ruff: noqa: RUF001 (other alphabets)

_PRONOUNS = "i you he she it we they there here that who what how where"
_ENGLISH = f"""
a an the this these those each every either neither some any no none all both another other others
such same own enough few fewer many much more most less several
{_PRONOUNS} me my myself your yours yourself yourselves him his himself her hers herself its itself
us our ours ourselves them their theirs themselves themself one ones oneself someone somebody
something anyone anybody anything everyone everybody everything nobody nothing whom whose which
whoever whatever whichever whomever
about above across after against along alongside amid among amongst around as at before behind below
beneath beside besides between beyond by despite down during except for from in inside into like
near of off on onto out outside over per since through throughout till to toward towards under
underneath unlike until up upon via with within without
and but or nor so yet because although though while whereas whilst if unless whether than once lest
am is are was were be been being have has had having do does did doing done will would shall should
can cannot could may might must ought let lets
not again also almost already always anyway away else elsewhere even ever everywhere furthermore
hardly hence hereby however indeed instead just latter maybe meanwhile merely moreover nearly never
nevertheless nonetheless now nowhere often only otherwise perhaps quite rather really seldom somehow
sometimes somewhat somewhere soon still then thereafter thereby therefore therein thereof thus
together too very well when whenever whereby wherein wherever why
two three four five six seven eight nine ten etc eg ie mr mrs ms oh ok please yes
"""
_NEGATED = "is are was were do does did has had could would should must might need ought ai ca sha"


def _english() -> frozenset[str]:
    ends = ("m", "re", "s", "ve", "ll", "d")
    shortened = [f"{word}'{end}" for word in _PRONOUNS.split() for end in ends]
    negated = [f"{word}n't" for word in _NEGATED.split()]
    contracted = [*shortened, *negated, "y'all", "let's"]
    curly = [word.replace("'", "\u2019") for word in contracted]
    return frozenset([*_ENGLISH.split(), *contracted, *curly])


ENGLISH = _english()

_FREQUENT = """
German: der die das und ist nicht mit ein eine den von zu dem sich auch auf für im dass wir
French: le la les des et est une dans pour que qui sur pas du au nous il avec ce
Spanish: el la los las que en una por con para del se su no es como más lo
Italian: il la di che della non per una con sono del nel gli le dei alla più anche
Portuguese: que não uma para com os do da em mais por dos ao na as se foi
Dutch: de het een van dat niet op voor met zijn aan te er wij ook naar
Swedish: och att det som en är på för inte den av till vi har med ett
Danish: og det er ikke på til en af at som der den vi har med et
Norwegian: og det er ikke på til en av å som jeg den vi har med et
Finnish: ja on ei että oli se myös hän mutta kun niin ovat sen koska
Polish: na się nie do że jest to jak po ale za od przez oraz był
Czech: se na je že to do jako ale po jsem by jeho tak která pro
Romanian: și în de la cu nu pe să este din care mai pentru au
Hungarian: az és hogy nem egy is meg ez de csak már volt
Turkish: ve bir bu için da de ile çok daha olarak ama var gibi
Greek: και το να του την με για της είναι που από στην
Russian: не на что он как это по но из за от был они мы его
Ukrainian: не на що та як це до але про від за вони ми його
Arabic: في من على إلى أن هذا التي لا ما عن مع هذه
Hindi: है और का की के में को से ने पर यह कि था
"""
# the most frequent words of languages, by their English names
_LINES = (line.split(": ") for line in _FREQUENT.strip().splitlines())
FREQUENT = {name: words.split() for name, words in _LINES}
