// Text of strangers, made visible, and the one way in which anything gets onto the page: as text.

const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;
const CONTROLS =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

const visible = (text) =>
  String(text)
    .replace(/\r\n/g, "\n")
    .replace(SEQUENCES, "")
    .replace(CONTROLS, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

const cut = (text, limit) => (text.length > limit ? text.slice(0, limit - 1) + "…" : text);

const h = (tag, attributes, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") node.addEventListener("click", value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : visible(child));
  }
  return node;
};

const seconds = (s) => {
  if (s < 60) return s.toFixed(2) + "s";
  const whole = Math.round(s);
  return Math.floor(whole / 60) + "m " + String(whole % 60).padStart(2, "0") + "s";
};

const plural = (n, word) => n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s");

const pretty = (value) => JSON.stringify(value, null, 2);
