// Ranks of the search: a page whose title or text matches comes before a symbol of the reference.
var Scorer = {
  objNameMatch: 8,
  objPartialMatch: 2,
  objPrio: { 0: 0, 1: -5, 2: -10 },
  objPrioDefault: 0,
  title: 20,
  partialTitle: 12,
  term: 5,
  partialTerm: 2,
};
