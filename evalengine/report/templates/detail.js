// One case, whole.

const section = (title, ...children) => h("section", null, h("h3", null, title), ...children);
const pre = (text, kind) => h("pre", { class: kind, tabindex: "0" }, text);

// A closed part whose content is made when it is opened.
const folded = (title, make) => {
  const node = h("details", null, h("summary", null, title));
  node.addEventListener("toggle", () => node.children.length < 2 && node.append(make()), { once: true });
  return node;
};

const pill = (status) => h("span", { class: "pill " + status }, status.replace("_", " "));

const criterionRow = (result) => {
  const details = { ...result.details };
  const reason = details.reason || details.reasoning || "";
  delete details.reason;
  const mark = result.error ? "error" : result.passed ? "passed" : "failed";
  const judge = result.judge ? h("span", { class: "judge" }, "judge " + result.judge) : null;
  return h(
    "li",
    { class: "criterion " + mark },
    h(
      "div",
      { class: "criterion-head" },
      pill(mark),
      h("code", null, result.criterion),
      result.error
        ? null
        : h(
            "span",
            { class: "score" },
            Number(result.score).toFixed(2) + (result.passed ? " ≥ " : " < ") + Number(result.threshold).toFixed(2),
          ),
      judge,
    ),
    result.error ? h("p", { class: "reason" }, result.error) : null,
    reason ? h("p", { class: "reason" }, reason) : null,
    Object.keys(details).length ? folded("Details", () => pre(pretty(details))) : null,
  );
};

const criteriaSection = (result) => {
  const absent = (result.not_applicable || []).map((item) =>
    h(
      "li",
      { class: "criterion absent" },
      h("div", { class: "criterion-head" }, h("span", { class: "pill none" }, "n/a"), h("code", null, item.criterion)),
      h("p", { class: "reason" }, item.reason || "nothing to compare"),
    ),
  );
  const given = [...(result.criterion_results || [])].sort((a, b) => a.passed - b.passed).map(criterionRow);
  if (!given.length && !absent.length) return null;
  return section("Criteria", h("ul", { class: "plain" }, given, absent));
};

const answerBlock = (expected, actual) => {
  if (!expected) return h("div", { class: "said agent" }, h("b", null, "Agent"), pre(actual || "(nothing)"));
  const [left, right] = compareTexts(expected, actual);
  return h(
    "div",
    { class: "pair" },
    h("div", { class: "said wanted" }, h("b", null, "Expected"), pre(left)),
    h("div", { class: "said agent" }, h("b", null, "Actual"), pre(actual ? right : "(nothing)")),
  );
};

const turnsOf = (result) => {
  const expected = result.expected || [];
  const actual = result.turn_results || [];
  const count = Math.max(expected.length, actual.length, 1);
  return Array.from({ length: count }, (_, turn) => ({
    expected: expected[turn] || {},
    asked: (actual[turn] || {}).user_input || (expected[turn] || {}).user_input || "",
    said: actual[turn] ? actual[turn].agent_response : turn === count - 1 ? result.actual_response || "" : "",
    calls: (actual[turn] || {}).tool_calls || [],
  }));
};

const conversation = (result) => {
  const turns = turnsOf(result);
  if (!turns.some((turn) => turn.asked || turn.said || turn.expected.response)) return null;
  const nodes = turns.map((turn, place) =>
    h(
      "li",
      null,
      turns.length > 1 ? h("h4", null, "Turn " + (place + 1)) : null,
      turn.asked ? h("div", { class: "said user" }, h("b", null, "User"), pre(turn.asked)) : null,
      turns.length > 1 && turn.calls.length
        ? h("p", { class: "calls" }, "called ", turn.calls.map((call) => h("code", null, callName(call))))
        : null,
      answerBlock(turn.expected.response, turn.said),
    ),
  );
  return section("Conversation", h("ol", { class: "plain turns" }, nodes));
};

const joined = (result, key) => (result.expected || []).flatMap((turn) => turn[key] || []);

const outcomeOf = (call) =>
  call.result === null || call.result === undefined
    ? null
    : h("div", { class: "outcome" }, "→ " + cut(typeof call.result === "string" ? call.result : JSON.stringify(call.result), 2000));

const tools = (result) => {
  const expected = joined(result, "tools");
  const actual = result.actual_tool_calls || [];
  if (!expected.length && !actual.length) return null;
  const same = (e, a) => callName(e) === callName(a);
  return section("Tool calls", compareSteps(expected, actual, same, callText, fits, outcomeOf));
};

const nodes = (result) => {
  const expected = joined(result, "nodes");
  const actual = result.node_visits || [];
  if (!expected.length && !actual.length) return null;
  if (!expected.length) {
    return section("Nodes", h("p", { class: "path" }, actual.map((name) => h("code", null, name))));
  }
  const equal = (e, a) => e === a;
  return section("Nodes", compareSteps(expected, actual, equal, (name) => name, equal, null));
};

const tokenTable = (result) => {
  const kinds = [
    ["all", result.token_usage],
    ["agent", result.agent_token_usage],
    ["judge", result.judge_token_usage],
    ["simulated user", result.simulator_token_usage],
  ].filter(([, usage]) => usage && usage.total_tokens);
  if (!kinds.length) return null;
  const cell = (n) => h("td", { class: "number" }, (n || 0).toLocaleString("en"));
  const titles = ["", "Input", "Output", "Cache read", "Total"].map((t) => h("th", { scope: "col" }, t));
  const body = kinds.map(([name, usage]) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, name),
      cell(usage.input_tokens),
      cell(usage.output_tokens),
      cell(usage.cache_read_tokens),
      cell(usage.total_tokens),
    ),
  );
  return section("Tokens", h("table", null, h("thead", null, h("tr", null, titles)), h("tbody", null, body)));
};

const caseFacts = (row, result) => {
  const entries = [
    ["File", result.file],
    ["Set", result.set_name || result.set_id],
    ["Name", result.name && result.name !== result.eval_id ? result.name : ""],
    ["Time", seconds(row.duration)],
    ["Worker", row.worker === null ? "" : String(row.worker)],
    ["Attempts", result.attempts > 1 ? String(result.attempts) + (result.flaky ? ", flaky" : "") : ""],
    ["Started", result.started_at ? new Date(result.started_at * 1000).toISOString().replace("T", " ").slice(0, 23) : ""],
    ["Cost", typeof result.cost === "number" ? "$" + result.cost.toFixed(4) : ""],
    ["Tags", (result.tags || []).join(", ")],
    ["Description", result.description],
  ].filter(([, value]) => value);
  return h("dl", { class: "pairs" }, entries.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
};

const earlierAttempts = (result) => {
  const earlier = result.earlier_attempts || [];
  if (!earlier.length) return null;
  const items = earlier.map((attempt) =>
    h("li", { value: String(attempt.attempt) },
      attempt.status + " after " + seconds(attempt.duration_seconds) + (attempt.error ? ": " + attempt.error : ""),
      attempt.traceback ? pre(attempt.traceback, "traceback") : null,
    ),
  );
  return section("Earlier attempts", h("ol", null, items));
};

const renderCase = (row, result) => [
  result.error ? h("p", { class: "error-line" }, result.error) : null,
  criteriaSection(result),
  conversation(result),
  tools(result),
  nodes(result),
  (result.notes || []).length ? section("Notes", h("ul", null, result.notes.map((note) => h("li", null, note)))) : null,
  result.traceback ? section("Traceback", pre(result.traceback, "traceback")) : null,
  result.output ? section("Captured output", pre(result.output, "output")) : null,
  earlierAttempts(result),
  tokenTable(result),
  section("Facts", caseFacts(row, result)),
  (result.messages || []).length ? folded("Messages (" + result.messages.length + ")", () => pre(pretty(result.messages))) : null,
  (result.node_responses || []).length ? folded("Node responses", () => pre(pretty(result.node_responses))) : null,
  folded("Whole record", () => pre(pretty(result))),
];
