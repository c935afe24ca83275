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

// Addresses as somebody types: a combobox whose list the arrow keys walk while the caret stays in the field.
for (const field of document.querySelectorAll("input[data-suggest]")) {
  const list = document.createElement("ul");
  list.id = `${field.id}-list`;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Addresses");
  list.hidden = true;
  const said = document.createElement("span");
  said.className = "hidden";
  said.setAttribute("role", "status");
  field.after(list, said);
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-expanded", "false");
  let at = -1;
  let waiting = 0;
  let asking = null;
  const close = () => {
    clearTimeout(waiting);
    if (asking) asking.abort();
    list.hidden = true;
    at = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const mark = (next) => {
    at = next;
    for (const [n, option] of [...list.children].entries()) {
      option.setAttribute("aria-selected", String(n === at));
      if (n === at) option.scrollIntoView({ block: "nearest" });
    }
    if (at < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", list.children[at].id);
  };
  const take = (option) => {
    field.value = option.textContent;
    close();
    said.textContent = "";
  };
  const ask = async () => {
    if (asking) asking.abort();
    asking = new AbortController();
    const query = field.value.trim();
    const path = `${field.dataset.suggest}?q=${encodeURIComponent(query)}`;
    const answer = await fetch(path, { redirect: "error", signal: asking.signal }).catch(() => null);
    const found = answer && answer.ok ? (await answer.json().catch(() => ({}))).suggestions || [] : null;
    // What was typed meanwhile is asked for on its own.
    if (!found || field.value.trim() !== query || document.activeElement !== field) return;
    list.replaceChildren(...found.map((text, n) => {
      const option = document.createElement("li");
      option.id = `${list.id}-${n}`;
      option.setAttribute("role", "option");
      option.textContent = text;
      // Before the field loses the caret.
      option.addEventListener("mousedown", (event) => { event.preventDefault(); take(option); });
      return option;
    }));
    list.hidden = found.length === 0;
    field.setAttribute("aria-expanded", String(!list.hidden));
    mark(-1);
    said.textContent = found.length === 1 ? "1 address" : `${found.length} addresses`;
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    if (field.value.trim().length < 3) close();
    else waiting = setTimeout(ask, 120);
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const count = list.hidden ? 0 : list.children.length;
    if (event.key === "ArrowDown" && count) mark(at + 1 < count ? at + 1 : 0);
    else if (event.key === "ArrowUp" && count) mark(at > 0 ? at - 1 : count - 1);
    else if (event.key === "Enter" && count && at >= 0) take(list.children[at]);
    else if (event.key === "Escape" && count) close();
    else {
      if (event.key === "Tab") close();
      return;
    }
    event.preventDefault();
  });
  field.addEventListener("blur", close);
}
