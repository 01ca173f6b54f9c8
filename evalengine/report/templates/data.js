// The cases: index rows are read at once, everything else of a case when it is opened.

const parse = (id) => JSON.parse(document.getElementById(id).textContent);
const facts = parse("facts");
const tables = parse("tables");

const rows = [];
const blocks = [];

const readRow = (row, block, place) => ({
  number: rows.length,
  label: row[0],
  status: tables.statuses[row[1]],
  duration: row[2],
  name: row[3],
  file: row[4],
  set: row[5],
  tags: row[6],
  worker: row[7],
  start: row[8],
  tokens: row[9],
  repeat: row[10],
  attempts: row[11],
  why: row[12],
  failing: row[13],
  block,
  place,
  text: null,
});

const packed = document.querySelectorAll("script.cases");
document.querySelectorAll("script.rows").forEach((element, block) => {
  blocks.push({ element: packed[block], cases: null });
  JSON.parse(element.textContent).forEach((row, place) => rows.push(readRow(row, block, place)));
  element.remove();
});

const repeats = rows.some((row) => row.repeat > 0);
const titleOf = (row) => (repeats ? row.label + " (" + (row.repeat + 1) + ")" : row.label);
const linkOf = (row) =>
  "#case=" + encodeURIComponent(row.label) + (row.repeat ? "&repeat=" + row.repeat : "");

const unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
};

let opened = [];

const caseOf = async (row) => {
  const block = blocks[row.block];
  if (!block.cases) {
    block.cases = unpack(block.element.textContent);
    opened.push(block);
    if (opened.length > 4) opened.shift().cases = null;
  }
  return (await block.cases)[row.place];
};
