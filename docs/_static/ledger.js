// On a page of the ledger: a search box and a choice of verdict above the table. The evidence of a claim is shown when its
// identifier is clicked, when the address names it, or when the search leaves few claims.
addEventListener("DOMContentLoaded", () => {
  const few = 8;
  const table = [...document.querySelectorAll("table")].find((each) => each.querySelector("th")?.textContent.trim() === "item");
  if (!table) return;
  const evidence = new Map();
  for (const section of document.querySelectorAll("section section")) {
    evidence.set(section.querySelector("h2").firstChild.textContent.trim(), section);
  }
  const rows = [...table.tBodies[0].rows].map((row) => {
    const name = row.cells[0].textContent.trim();
    const section = evidence.get(name);
    if (section) row.cells[0].innerHTML = `<a href="#${section.id}">${row.cells[0].innerHTML}</a>`;
    const verdict = row.cells[2].textContent.trim().replace(/^.*: /, "");
    const text = `${row.textContent} ${section?.textContent ?? ""}`.toLowerCase();
    return { row, section, verdict, text };
  });
  const search = Object.assign(document.createElement("input"), { type: "search", placeholder: "search items and evidence" });
  search.setAttribute("aria-label", search.placeholder);
  const choice = document.createElement("select");
  choice.setAttribute("aria-label", "verdict");
  choice.add(new Option("every verdict", ""));
  for (const verdict of new Set(rows.map((each) => each.verdict).filter((each) => !each.startsWith("see ")))) choice.add(new Option(verdict));
  const count = document.createElement("output");
  const form = document.createElement("form");
  form.className = "ledger-filter";
  form.append(search, choice, count);
  (table.closest(".table-wrapper") ?? table).before(form);
  form.addEventListener("submit", (event) => event.preventDefault());
  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = decodeURIComponent(location.hash.slice(1));
    const kept = rows.filter(({ verdict, text }) => (!choice.value || verdict === choice.value) && words.every((word) => text.includes(word)));
    for (const { row, section } of rows) {
      row.hidden = true;
      if (section) section.hidden = section.id !== chosen;
    }
    for (const { row, section } of kept) {
      row.hidden = false;
      if (section && kept.length <= few) section.hidden = false;
    }
    count.textContent = `${kept.length} of ${rows.length}`;
  }
  for (const each of [search, choice]) each.addEventListener("input", show);
  addEventListener("hashchange", () => { show(); document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView(); });
  addEventListener("beforeprint", () => { for (const { section } of rows) if (section) section.hidden = false; });
  addEventListener("afterprint", show);
  show();
  if (location.hash) dispatchEvent(new Event("hashchange"));
});
