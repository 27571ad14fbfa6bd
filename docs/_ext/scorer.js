// Of pages that match alike, what a reader needs first: guides before reference, measurements last.
var Scorer = {
  score: ([page, , , , score, , kind]) => {
    const weights = { tutorials: 1.3, guides: 1.5, background: 0.7, measurements: 0.4, reference: 0.9 };
    return kind === "index" ? score : score * (weights[page.split("/")[0]] || 1.2);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
