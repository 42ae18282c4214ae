"""Claim 6: heads that are trained to disagree (Li et al. 2018, arXiv 1810.10183)."""

import math

from models.messages import N_, message
from studies import per_text
from studies.claims import Claim, Statement, commands, tables
from studies.claims.contrast import judged
from studies.claims.evidence import Evidence
from studies.claims.sources.synthesizer.generated import PLAIN, bleu, bleus
from studies.claims.verdict import UNKNOWN, Check, Samples, below, by_error, differences, median_below, of_values

TERMS = {"sub": message("values"), "pos": message("positions"), "out": message("outputs")}
TITLES = {PLAIN: message("plain"), **{f"translation-disagreement-{term}": title for term, title in TERMS.items()},
          "translation-disagreement-all": message("all three")}
MODELS = tuple(TITLES)
BLEU = dict(zip(MODELS, (24.13, 24.64, 24.42, 24.78, 24.60), strict=True))  # BLEU in the source, Chinese to English
LEAST = 0.8  # smallest fraction of the plain model's steps per second that counts as "a little slower"
# term -> exp(D) in the source for the plain model and for the model trained with this term
THEIRS = {"sub": (0.917, 0.935), "pos": (0.007, 0.219), "out": (0.921, 0.997)}


def claim(evidence: Evidence) -> Claim:
    return Claim("disagreement", message("Disagreement: heads are trained to differ"),
                 "Li et al. 2018, arXiv 1810.10183",
                 message("The source: Transformer-Base, Chinese to English and English to German. Here: 3.9 million "
                         "parameters, short sentences. The terms of all blocks are added; ours of positions is "
                         "divided by the number of queries."), MODELS,
                 "translation",
                 [_own_sense(evidence), _helps(evidence), _slower(evidence)])


def _own_sense(evidence: Evidence) -> Statement:
    """Judges whether each term raises its own exp(D), measured by studies/corpus/disagreement.py."""
    by_name = {name: study for name in MODELS if (study := evidence.study(name, "disagreement"))}
    checks: list[Check] = []
    rows: list[dict[str, str]] = []
    for term, title in TERMS.items():
        name = f"translation-disagreement-{term}"
        what = message("{term}: heads differ more", term=title)
        if {PLAIN, name} <= {*by_name}:  # exp(D), regularised minus plain; its error is due to the sentences
            plain, own = by_name[PLAIN], by_name[name]
            checks.append(by_error(what, own["mean"][term] - plain["mean"][term],
                                   math.hypot(own["error"][term], plain["error"][term])))
        else:
            checks.append(Check(what, UNKNOWN))
    for name, study in by_name.items():
        values: dict[str, str] = {message("exp(D), {term}", term=title): f"{study['mean'][term]:.3f}"
                                  for term, title in TERMS.items()}
        rows.append({N_("model"): name, N_("source"): tables.NOTHING, **values})
    rows += [{N_("model"): message("source: plain → with the term"), N_("source"): tables.NOTHING,
              **{message("exp(D), {term}", term=title): "{:.3f} → {:.3f}".format(*THEIRS[term])
                 for term, title in TERMS.items()}}]
    points = [{"name": title, "which": which, "value": measured["mean"][term]} for term, title in TERMS.items()
              for which, name in ((message("plain"), PLAIN),
                                  (message("with the term"), f"translation-disagreement-{term}"))
              if (measured := by_name.get(name))]
    return judged(
        "disagreement-own",
        message("exp(D), D = disagreement term: {values}", values=tables.each([
            (title, message("{low} to {high}", low=f"{by_name[PLAIN]['mean'][term]:.3f}",
                            high=f"{by_name[f'translation-disagreement-{term}']['mean'][term]:.3f}"))
            for term, title in TERMS.items() if {PLAIN, f"translation-disagreement-{term}"} <= {*by_name}])),
        None, checks, rows, tables.chart("dots", points, "exp(D)", N_("{name}, {which}: {value:.2f}")),
        f"python -m studies.corpus.disagreement {' '.join(MODELS)}\npython -m studies.claims")


def _helps(evidence: Evidence) -> Statement:
    samples: dict[str, Samples] = {name: evidence.samples(name, bleu) for name in MODELS}
    out = "translation-disagreement-out"
    sub, pos = "translation-disagreement-sub", "translation-disagreement-pos"
    checks = [below(message("{name} below {other}", name=TITLES[name], other=TITLES[other]), between,
                    texts=evidence.text_error(between, (name, per_text.sentences), (other, per_text.sentences)))
              for name, other in ((PLAIN, out), (sub, out), (pos, out), (pos, sub))
              for between in [differences(samples[name], samples[other])]]
    rows = tables.table([(TITLES[name], f"{BLEU[name]:.2f}", samples[name]) for name in MODELS], ".2f", "term")
    points = tables.dots([(TITLES[name], BLEU[name], samples[name]) for name in MODELS if samples[name]])
    chart = tables.chart("dots", points, "BLEU", N_("{name} {value:.2f}"))
    return judged(
        "disagreement-helps",
        message("BLEU: {values}", values=tables.each_over_time([
            (TITLES[name], values) for name, values in samples.items()], ".2f")),
        bleus(evidence, [out], [PLAIN]), checks, rows,
        chart if any(samples[name] for name in MODELS[1:]) else None,
        commands.evaluated(MODELS, f"python -m studies.generated.sentences {' '.join(MODELS)}"))


def _slower(evidence: Evidence) -> Statement:
    measured_rows = {row["name"]: row for row in evidence.measured.get("training_speed", {}).get("rows", [])}
    measured = {TITLES[name]: measured_rows[name] for name in MODELS if name in measured_rows}
    slowed = [-math.log(ratio) for ratio in measured_rows.get("translation-disagreement-out", {}).get("blocks", [])]
    checks = [check for name in MODELS[1:] if (blocks := measured_rows.get(name, {}).get("blocks")) for check in (
        median_below(message("{name}: at least {share} of plain's", name=TITLES[name], share=LEAST),
                     [-ratio for ratio in blocks], -LEAST),
        median_below(message("{name}: slower than plain", name=TITLES[name]), blocks))]
    rows = [{N_("term"): name, N_("source"): tables.NOTHING,
             N_("here, steps per second / plain's"): message("{median:.2f} ({low:.2f} to {high:.2f})",
                median=row["median"],
                                                           low=row["quartiles"][0], high=row["quartiles"][1])}
            for name, row in measured.items()]
    points = [{"name": name, "value": value, "which": which} for name, row in measured.items() for value, which in (
        (row["median"], message("median")), *((quartile, message("quartiles")) for quartile in row["quartiles"]))]
    chart = tables.chart("dots", points, message("steps per second / plain's"),
                         (message("{name} {value:.2f}", name=name, value=row["median"])
                          for name, row in measured.items()), rule=(1.0, message("equal")))
    return judged(
        "disagreement-slower",
        message("{values} (steps per second / plain's)", values=tables.each([
            (name, f"{row['median']:.2f}") for name, row in measured.items()])),
        of_values(slowed, 0), checks, rows, chart, commands.measured("training_speed"), share=LEAST)
