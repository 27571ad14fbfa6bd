// Of pages that match alike, what a reader needs first: guides before reference, results last.
var Scorer = {
  score: ([page, , , , score, , kind]) => {
    const weights = {
      start: 1.4, tutorials: 1.3, guides: 1.5, background: 0.7, reference: 0.9,
      results: 0.4, papers: 0.4, project: 0.4,
    };
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
