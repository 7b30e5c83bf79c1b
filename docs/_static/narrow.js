// On a narrow screen a table that is wider than it becomes a block for each row, its headings beside the values.
addEventListener("DOMContentLoaded", () => {
  const wrappers = [...document.querySelectorAll(".table-wrapper")];
  for (const row of document.querySelectorAll(".table-wrapper tbody tr")) {
    const heads = row.closest("table").querySelectorAll("thead th");
    [...row.cells].forEach((cell, i) => {
      cell.dataset.label = heads[i]?.textContent ?? "";
      cell.classList.toggle("wide", cell.textContent.length > 60);
      cell.classList.toggle("blank", cell.textContent.trim() === "");
    });
  }
  function stack() {
    for (const each of wrappers) each.classList.remove("stacked");
    for (const each of wrappers.filter((one) => one.scrollWidth > one.clientWidth)) each.classList.add("stacked");
  }
  stack();
  addEventListener("resize", stack);
});
