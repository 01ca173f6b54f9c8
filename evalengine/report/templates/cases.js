// The list: filters, order, and rows made only for what can be seen.

const ROW = 38;
const list = document.querySelector(".rows");
const toolbar = document.querySelector(".toolbar");
const shownLine = document.querySelector(".shown");
const filter = { statuses: new Set(), file: -1, set: -1, tag: -1, criterion: -1, text: "" };
let shown = rows;
let cursor = -1;
let open = null;

const textOf = (row) => {
  if (row.text === null) {
    const tags = row.tags.map((tag) => tables.tags[tag]).join(" ");
    row.text = [row.label, row.name, tables.sets[row.set], tags, row.why].join("\n").toLowerCase();
  }
  return row.text;
};

const keeps = (row, needles) =>
  (!filter.statuses.size || filter.statuses.has(row.status)) &&
  (filter.file < 0 || row.file === filter.file) &&
  (filter.set < 0 || row.set === filter.set) &&
  (filter.tag < 0 || row.tags.includes(filter.tag)) &&
  (filter.criterion < 0 || row.failing.includes(filter.criterion)) &&
  needles.every((needle) => textOf(row).includes(needle));

const ORDERS = {
  "Pool order": (a, b) => a.number - b.number,
  "Longest first": (a, b) => b.duration - a.duration,
  "Most tokens first": (a, b) => b.tokens - a.tokens,
  "Not passed first": (a, b) => (a.status === "passed") - (b.status === "passed") || a.number - b.number,
  "By label": (a, b) => (a.label < b.label ? -1 : a.label > b.label ? 1 : a.number - b.number),
};
let order = "Pool order";

const cells = (row, place) => {
  const tags = row.tags.slice(0, 3).map((tag) => h("span", { class: "tag" }, tables.tags[tag]));
  const button = h(
    "button",
    { type: "button", class: "row", "data-place": place, onclick: () => openRow(place) },
    pill(row.status),
    h("span", { class: "place" }, String(row.number + 1)),
    h("span", { class: "label" }, h("bdi", null, titleOf(row)), row.why ? h("span", { class: "why" }, cut(row.why, 160)) : null),
    h("span", { class: "tags" }, tags),
    h("span", { class: "time" }, seconds(row.duration)),
    h("span", { class: "tokens" }, row.tokens ? row.tokens.toLocaleString("en") : ""),
  );
  if (row === open) button.setAttribute("aria-current", "true");
  const item = h("li", { "aria-setsize": shown.length, "aria-posinset": place + 1 }, button);
  item.style.top = place * ROW + "px";
  return item;
};

// Rows on the screen stay the elements they are, so that focus and selection outlive a scroll.
const drawn = new Map();
const draw = () => {
  const top = list.getBoundingClientRect().top;
  const first = Math.max(0, Math.floor(-top / ROW) - 8);
  const last = Math.min(shown.length, Math.ceil((window.innerHeight - top) / ROW) + 8);
  for (const [place, item] of drawn) {
    if (place < first || place >= last) {
      item.remove();
      drawn.delete(place);
    }
  }
  for (let place = first; place < last; place++) {
    if (!drawn.has(place)) {
      const item = cells(shown[place], place);
      drawn.set(place, item);
      const next = drawn.get(place + 1);
      list.insertBefore(item, next || null);
    }
  }
};

const redraw = () => {
  drawn.clear();
  list.replaceChildren();
  list.style.height = shown.length * ROW + "px";
  draw();
};

const apply = () => {
  const needles = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  shown = rows.filter((row) => keeps(row, needles));
  if (order !== "Pool order") shown.sort(ORDERS[order]);
  cursor = -1;
  shownLine.textContent =
    shown.length === rows.length
      ? plural(rows.length, "case")
      : plural(shown.length, "case") + " of " + rows.length.toLocaleString("en");
  redraw();
};

const chip = (status, count) => {
  const button = h("button", { type: "button", class: "chip " + status, "aria-pressed": "false" },
    status.replace("_", " "), h("span", { class: "count" }, count.toLocaleString("en")));
  button.addEventListener("click", () => {
    const on = !filter.statuses.delete(status);
    if (on) filter.statuses.add(status);
    button.setAttribute("aria-pressed", String(on));
    apply();
  });
  return button;
};

const choice = (title, texts, key) => {
  if (texts.filter(Boolean).length < (key === "file" || key === "set" ? 2 : 1)) return null;
  const options = texts.map((text, n) => [text, n]).sort((a, b) => (a[0] < b[0] ? -1 : 1));
  const select = h("select", { "aria-label": title }, h("option", { value: "-1" }, title + ": all"),
    options.map(([text, n]) => h("option", { value: n }, cut(text || "(none)", 60))));
  select.addEventListener("change", () => {
    filter[key] = Number(select.value);
    apply();
  });
  return select;
};

const search = h("input", { type: "search", id: "search", placeholder: "Search cases  /", "aria-label": "Search cases" });

const buildToolbar = () => {
  const counts = new Map();
  for (const row of rows) counts.set(row.status, (counts.get(row.status) || 0) + 1);
  const chips = tables.statuses.filter((status) => counts.has(status)).map((status) => chip(status, counts.get(status)));
  const orders = h("select", { "aria-label": "Order" }, Object.keys(ORDERS).map((name) => h("option", null, name)));
  orders.addEventListener("change", () => {
    order = orders.value;
    apply();
  });
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      filter.text = search.value;
      apply();
    }, rows.length > 5000 ? 120 : 0);
  });
  const choices = [
    choice("File", tables.files, "file"),
    choice("Set", tables.sets, "set"),
    choice("Tag", tables.tags, "tag"),
    choice("Failed criterion", tables.criteria, "criterion"),
    orders,
  ];
  toolbar.append(search, h("div", { class: "chips", role: "group", "aria-label": "Status" }, chips),
    h("div", { class: "choices" }, choices.filter(Boolean)));
};

const reveal = (place) => {
  if (!list.offsetParent) return;
  const bar = toolbar.getBoundingClientRect().height + 12;
  const top = list.getBoundingClientRect().top + place * ROW;
  if (top < bar) window.scrollBy(0, top - bar);
  else if (top + ROW > window.innerHeight - 8) window.scrollBy(0, top + ROW - window.innerHeight + 8);
  draw();
};

const focusRow = (place) => {
  reveal(place);
  const item = drawn.get(place);
  if (item) item.firstChild.focus({ preventScroll: true });
};

const moveCursor = (by) => {
  if (!shown.length) return;
  cursor = Math.min(shown.length - 1, Math.max(0, cursor + by));
  if (open) openRow(cursor);
  else focusRow(cursor);
};
