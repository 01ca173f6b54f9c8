// The page: tabs, the open case, links into it, keys and theme.

const panel = document.getElementById("detail");
const tabs = [...document.querySelectorAll("[role=tab]")];
let returnTo = null;

const showTab = (name) => {
  for (const tab of tabs) {
    const chosen = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (name === "timeline") drawTimeline();
  if (name === "cases") draw();
};

const nextTab = (event) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const tab = tabs[(tabs.indexOf(event.currentTarget) + by + tabs.length) % tabs.length];
  tab.focus();
  showTab(tab.getAttribute("aria-controls"));
};

const markOpen = () => {
  for (const [place, item] of drawn) {
    if (shown[place] === open) item.firstChild.setAttribute("aria-current", "true");
    else item.firstChild.removeAttribute("aria-current");
  }
};

const closeCase = () => {
  if (!open) return;
  open = null;
  panel.hidden = true;
  document.body.classList.remove("split");
  markOpen();
  if (location.hash.startsWith("#case=")) history.replaceState(null, "", location.pathname + location.search);
  if (returnTo !== null && shown[returnTo]) focusRow(returnTo);
  returnTo = null;
};

const walker = (title, by, word) =>
  h("button", { type: "button", "aria-label": title, title, onclick: () => moveCursor(by) }, word);

const openCase = async (row) => {
  open = row;
  const heading = h("h2", { id: "detail-title", tabindex: "-1" }, h("bdi", null, titleOf(row)));
  const body = h("div", { class: "detail-body" }, h("p", { class: "note" }, "Opening…"));
  panel.replaceChildren(
    h(
      "header",
      null,
      h("div", { class: "detail-line" }, pill(row.status), h("span", { class: "time" }, seconds(row.duration)),
        walker("Previous case", -1, "↑"), walker("Next case", 1, "↓"),
        h("button", { type: "button", "aria-label": "Close", title: "Close", onclick: closeCase }, "✕")),
      heading,
    ),
    body,
  );
  panel.hidden = false;
  document.body.classList.add("split");
  markOpen();
  heading.focus({ preventScroll: true });
  if (location.hash !== linkOf(row)) history.replaceState(null, "", linkOf(row));
  let content;
  try {
    content = renderCase(row, await caseOf(row));
  } catch (error) {
    content = [h("p", { class: "error-line" }, "This case could not be read from the page: " + error)];
  }
  if (open !== row) return;
  body.replaceChildren(...content.filter(Boolean));
  panel.scrollTop = 0;
};

const openRow = (place) => {
  cursor = place;
  returnTo = place;
  reveal(place);
  return openCase(shown[place]);
};

const openLink = () => {
  const link = new URLSearchParams(location.hash.slice(1));
  const label = link.get("case");
  if (label === null || (open && linkOf(open) === location.hash)) return;
  const repeat = Number(link.get("repeat") || 0);
  const place = shown.findIndex((row) => row.label === label && row.repeat === repeat);
  if (place >= 0) openRow(place);
};

const KEYS = {
  j: () => moveCursor(1),
  k: () => moveCursor(-1),
  ArrowDown: () => moveCursor(1),
  ArrowUp: () => moveCursor(-1),
  "/": () => {
    showTab("cases");
    search.focus();
    search.select();
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (open) closeCase();
    else if (document.activeElement === search) search.blur();
    return;
  }
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  const arrow = event.key.startsWith("Arrow");
  if (typing || !KEYS[event.key] || (arrow && !event.target.classList.contains("row"))) return;
  if (document.getElementById("cases").hidden && event.key !== "/") return;
  event.preventDefault();
  KEYS[event.key]();
});

const theme = document.getElementById("theme");
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";
const nameTheme = () => {
  theme.textContent = isDark() ? "Light" : "Dark";
  theme.setAttribute("aria-label", "Switch to the " + theme.textContent.toLowerCase() + " theme");
  drawTimeline();
};
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
systemDark.addEventListener("change", nameTheme);

for (const tab of tabs) {
  tab.addEventListener("click", () => showTab(tab.getAttribute("aria-controls")));
  tab.addEventListener("keydown", nextTab);
}
window.addEventListener("scroll", draw, { passive: true });
window.addEventListener("resize", () => {
  draw();
  drawTimeline();
});
window.addEventListener("hashchange", openLink);

document.querySelector(".tabs").hidden = false;
theme.hidden = false;
buildToolbar();
showTab("cases");
apply();
nameTheme();
openLink();
document.documentElement.dataset.ready = "yes";
