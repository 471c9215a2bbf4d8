"""Makes the fixtures of this package with rouge-score and NLTK.

    pip install rouge-score==0.1.2
    python reference.py

Writes pairs.jsonl.gz, pairs of made-up texts with their scores (for each of
rouge1, rouge2, rouge3, rougeL and rougeLsum precision, recall and F1, first without,
then with stemming), and stems.txt.gz, words with their stems.
"""

import gzip
import importlib.metadata
import json
import random

from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer

TYPES = ["rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"]

ROOTS = """act adopt agree allow amaz analog angular apolog apply argu arriv attach bat
beauti believ bicycl bless block bounc brav bubbl buzz care cease center chang charg
chill choos civil clever cling close commun compar complet conclud condition conflat
conform connect consider control cooperat copi crack creat cri cycl danc decid deck
decis defens delight depend detect determin develop differ digit direct divid dream
drip driv drop duti eas educat effect elect electric embarrass employ end energ enjoy
enter equal essay establish exam excit expect fail fall fanci fat feed feel fertil fil
fill final fix fizz flat fli flow fly form formal free fulfil gam general geo glad go
grac grant guess gyroscop hand happ happi harbor help hesit hiss hobb hop hope hurry
ideal ident imagin infer inherit inject install instruct intens inter invent irrit
jell judg juic jump keen kick kind know laugh lazi leagu learn liber liv local lock log
lov magnet mail manag matur merci mix mobil modern motor move name nation nerv nois norm
oat obey observ occasion open oper organ own paint parti pass pay perform person philo
physic piti plan plaster play plot pok pon posit predic prefer present pretti privat
probat process produc publ pull quick quiz radic rais rat ration react read real regul
relat reliabl remov replac report respons reviv roll rott run sail sens sensit sentenc
separat serious shar ship sincer siz skat sky slow sound special sport spy stabil
standard steal stop stor strang stri study succeed suggest summar support surpris syzyg
tail talk tan tap theo thin tick time tip toy trac train transit trap tree tri triplic
trouble try turn usual valenc valid vietnam vil visit visual vital voic volum vot wait
walk want wash wast wax weak wil win wish wonder work worri wow x y ye yy zeal zon""".split()

SUFFIXES = [""] + """s es ies ied ed eed ing ings ingly ly edly y er ers est or ors ion
ions ation ations ational ationally ization izations izer izers ize izes izing ized ator
ators al ally alism alist ality alities alize alized ance ances ancy ence ency enci anci
able ably ability ible ibly ibility ous ously ousness ive ively iveness ivity ful fully
fulness less lessness ness nesses ment ments ement ements ent ently ant antly ic ical
ically icate icated icity iciti ism isms ate ates ated ating ative atively iti ou ogy
logy logi logies logist tional tionally bli abli alli entli eli ousli aliti iviti biliti
fulli e ee ees eer ll lled lling ss sses zz zzed tted tting nned nning pping at bl iz
hood ship wise ward th ty ties dom e2 1 11ed""".split()

ENDINGS = ["", "s", "ed", "ing", "ings", "ly", "ation", "ations", "ize", "ized", "able", "ably", "ment", "ments"]

IRREGULAR = """sky skies dying lying tying news inning innings outing outings canning
cannings howe proceed exceed succeed proceeds proceeded succeeding die dies died lie
lies tie ties ied ies aied bies feed bleed agreed freed sing bring king bled red shed
hoping hopping falling hissing fizzed failing filing tanned sized conflated troubled
enjoy enjoyed happy spy by say y yy yyy yyyy yyyyed ayay yaya ally bally rally totally
apologi theology geology archaeology logi log ion lion onion version fusion petition
cease rate roll controll ell all eel ease probate generically oscillators aa eee iou
s ss sss ssss sses es e ed ing inging eding ended aed aing 1s 123s a1ed b2ing 0ies""".split()

COMMON = """the a of and to in is was it that for on with as his they at be this from i
have or by one had not but what all were when we there can an your which their said if
do will each about how up out them then she many some so these would other into has more
her two like him see no way could people my than first water been call who oil its now
find long down day did get come made may part""".split()

ODD = ["", " ", "\n", "\t \n", "...", "---", "'", "don't", "DON'T", "it's", "o'clock", "l'été",
       "naïve", "café", "Ünïcödé", "İstanbul", "İİ", "\u212a", "10\u212a", "straße", "ﬁne", "①②", "٣", "日本語", "🙂", "a🙂b",
       "e\u0301", "a\u00a0b", "a\u200bb", "a\u2028b", "x\x00y", "3.14", "1,000,000", "c++", "c#",
       "foo_bar", "snake_case_word", "Mr. Smith's", "U.S.A.", "e-mail", "$5.00", "50%",
       "a" * 300, "running" * 20, "y" * 50, "\r\n", "UPPER lower MiXeD", "ßs", "ſtop", "Å"]


def inflected(rng):
    return rng.choice(ROOTS) + rng.choice(SUFFIXES)


def word(rng):
    r = rng.random()
    if r < 0.45:
        return rng.choice(COMMON)
    if r < 0.85:
        return inflected(rng)
    if r < 0.92:
        return rng.choice(IRREGULAR)
    if r < 0.96:
        return str(rng.randrange(10 ** rng.randrange(1, 6)))
    return rng.choice(ODD)


def text(rng, n):
    out = []
    for _ in range(n):
        w = word(rng)
        if rng.random() < 0.1:
            w = w.capitalize()
        out.append(w + rng.choice(["", "", "", "", ",", ".", "!", "\n", "'s", ";\n"]))
    return rng.choice([" ", " ", "  "]).join(out)


def edit(rng, t):
    """Another version of a text, so that the two share much but not all."""
    words = t.split(" ")
    for _ in range(rng.randrange(1, max(2, len(words) // 2))):
        if not words:
            break
        i = rng.randrange(len(words))
        what = rng.randrange(5)
        if what == 0:
            del words[i]
        elif what == 1:
            words.insert(i, word(rng))
        elif what == 2:
            words[i] = word(rng)
        elif what == 3:
            words[i] = words[i].rstrip("s.,!;\n'") + rng.choice(SUFFIXES)
        else:
            j = rng.randrange(len(words))
            words[i], words[j] = words[j], words[i]
    return " ".join(words)


def pairs(rng):
    yield from ((a, b) for a in ODD[:8] for b in ODD[:10])
    for odd in ODD:
        yield odd, odd
        yield odd, "the " + odd + " and the " + odd
        yield "before\n" + odd + "\nafter", odd + " after"
    for _ in range(500):
        t = text(rng, rng.randrange(1, 30))
        yield t, edit(rng, t)
    for _ in range(250):
        yield text(rng, rng.randrange(0, 25)), text(rng, rng.randrange(0, 25))
    # Few different words: many subsequences of the greatest length.
    for _ in range(250):
        few = rng.sample(COMMON, rng.randrange(1, 4)) + ["\n"]
        yield (" ".join(rng.choices(few, k=rng.randrange(1, 40))),
               " ".join(rng.choices(few, k=rng.randrange(1, 40))))
    # Other forms of the same words.
    for _ in range(250):
        roots = rng.choices(ROOTS, k=rng.randrange(1, 15))
        yield (" ".join(r + rng.choice(ENDINGS) for r in roots),
               " ".join(r + rng.choice(ENDINGS) for r in roots))
    # Longer than a word of bits, up to and past its ends.
    for n in (63, 64, 65, 127, 128, 129, 200):
        t = " ".join(rng.choices(COMMON[:30], k=n))
        yield t, edit(rng, t)
        yield t, t
        yield "the " * n, "the " * (n + 1)
    t = text(rng, 600)
    yield t, edit(rng, t)


def scores(scorers, want, got):
    out = []
    for s in scorers:
        result = s.score(want, got)
        out.append([list(result[t]) for t in TYPES])
    return out


def words(rng):
    out = set(IRREGULAR) | set(COMMON)
    out.update(rng.choice(ROOTS) + s for s in SUFFIXES for _ in range(12))
    out.update(r + rng.choice(SUFFIXES) for r in ROOTS for _ in range(12))
    out.update(inflected(rng) + rng.choice(SUFFIXES) for _ in range(3000))
    letters = "aeiouyyybcdlstz1"
    out.update("".join(rng.choices(letters, k=rng.randrange(1, 6))) + rng.choice(SUFFIXES) for _ in range(3000))
    return sorted(w for w in out if w)


def write(path, lines):
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        for line in lines:
            z.write((line + "\n").encode())


def main():
    versions = ", ".join(p + " " + importlib.metadata.version(p) for p in ("rouge-score", "nltk"))
    rng = random.Random(6)
    scorers = [rouge_scorer.RougeScorer(TYPES, use_stemmer=stem) for stem in (False, True)]
    write("pairs.jsonl.gz", [json.dumps({"made_with": versions})] + [
        json.dumps({"want": a, "got": b, "scores": scores(scorers, a, b)}, ensure_ascii=False, separators=(",", ":"))
        for a, b in pairs(rng)])
    stem = PorterStemmer().stem
    write("stems.txt.gz", ["# " + versions] + [w + " " + stem(w) for w in words(rng)])


main()
