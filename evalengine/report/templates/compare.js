// Expected against actual: texts word by word, sequences step by step.

const CELLS = 250000;

// Pairs two sequences by their longest common subsequence: [[a or null, b or null], ...], or null if too long.
const align = (a, b, same) => {
  if (a.length * b.length > CELLS) return null;
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] = same(a[i], b[j])
        ? best[(i + 1) * width + j + 1] + 1
        : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const pairs = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && same(a[i], b[j])) pairs.push([a[i++], b[j++]]);
    else if (j >= b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1]))
      pairs.push([a[i++], null]);
    else pairs.push([null, b[j++]]);
  }
  return pairs;
};

const words = (text) => visible(text).match(/\s+|[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) || [];
const sameWord = (a, b) => a.toLowerCase() === b.toLowerCase();

// Two lists of nodes: the expected and the actual text, what only one of them has marked.
const compareTexts = (expected, actual) => {
  const pairs = align(words(expected), words(actual), sameWord);
  if (!pairs) return [[expected], [actual]];
  const only = (side) =>
    pairs
      .filter((pair) => pair[side] !== null)
      .map((pair) => {
        const marked = pair[1 - side] === null && pair[side].trim();
        return marked ? h("mark", { class: side ? "added" : "missing" }, pair[side]) : pair[side];
      });
  return [only(0), only(1)];
};

const callText = (call) => {
  if (typeof call === "string") return call;
  const args = Object.entries(call.args || {}).map(([key, value]) => key + "=" + JSON.stringify(value));
  return call.name + "(" + args.join(", ") + ")";
};
const callName = (call) => (typeof call === "string" ? call : call.name);

const fits = (expected, actual) =>
  typeof expected === "string" ||
  Object.entries(expected.args || {}).every(
    ([key, value]) => actual.args && JSON.stringify(actual.args[key]) === JSON.stringify(value),
  );

const step = (text, kind) => h("td", { class: kind }, text === null ? "–" : h("code", null, text));

// A table of two sequences side by side; ``detail`` gives what stands under an actual step.
const compareSteps = (expected, actual, same, text, fit, detail) => {
  const pairs =
    align(expected, actual, same) || [...expected.map((e) => [e, null]), ...actual.map((a) => [null, a])];
  const body = pairs.map(([e, a]) => {
    const kind = e === null ? "extra" : a === null ? "missing" : fit(e, a) ? "same" : "differs";
    const right = step(a === null ? null : text(a), kind);
    const under = a !== null && detail ? detail(a) : null;
    if (under) right.append(under);
    return h("tr", null, step(e === null ? null : text(e), kind), right);
  });
  const head = h("tr", null, h("th", { scope: "col" }, "Expected"), h("th", { scope: "col" }, "Actual"));
  return h("table", { class: "steps" }, h("thead", null, head), h("tbody", null, body));
};
