// Small comforts. Every page works without them.
"use strict";

for (const button of document.querySelectorAll("[data-copy]")) {
  const field = document.getElementById(button.dataset.copy);
  if (!field || !navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  });
}

for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!window.confirm(form.dataset.confirm)) event.preventDefault();
  });
}

// What is left of the budget, while somebody looks.
for (const tiles of document.querySelectorAll("[data-budget]")) {
  setInterval(async () => {
    if (document.hidden) return;
    const answer = await fetch(tiles.dataset.budget, { redirect: "error" }).catch(() => null);
    if (!answer || !answer.ok) return;
    const budget = await answer.json();
    for (const field of tiles.querySelectorAll("[data-field]")) {
      const value = budget[field.dataset.field];
      if (field.tagName === "PROGRESS") field.value = value;
      else field.textContent = value;
    }
  }, 3000);
}

// A link to a source opens it.
const open = () => {
  const source = location.hash && document.getElementById(location.hash.slice(1));
  if (source && source.tagName === "DETAILS") source.open = true;
};
addEventListener("hashchange", open);
open();

// On paper everything is open.
addEventListener("beforeprint", () => {
  for (const source of document.querySelectorAll("details")) source.open = true;
});

// A click on a column's head sorts by it: by number where both are numbers, else by text.
for (const table of document.querySelectorAll("table[data-sort]")) {
  for (const [at, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const text = (row) => row.cells[at].textContent;
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [text(a), text(b)];
        const numbers = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
        const order = numbers ? x - y : x.localeCompare(y);
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  }
}
