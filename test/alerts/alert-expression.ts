import assert from "node:assert/strict";

/**
 * The subset of PromQL that the alerts use, as a tree. The parser rejects anything else, so that no rule is evaluated differently
 * than by Prometheus.
 */
export type Expression =
  | { kind: "number"; value: number }
  | { kind: "selector"; name: string; matchers: Matcher[]; rangeMs: number | null }
  | { kind: "call"; name: CallName; args: Expression[] }
  | { kind: "aggregate"; name: AggregateName; by: string[]; of: Expression }
  | { kind: "binary"; sign: Operator; left: Expression; right: Expression };

export interface Matcher {
  label: string;
  sign: "=" | "!=" | "=~";
  value: string;
}

const FUNCTION_NAMES = ["rate", "increase", "max_over_time", "abs", "vector", "histogram_quantile"] as const;
type CallName = (typeof FUNCTION_NAMES)[number];
const AGGREGATES = ["sum", "max", "min"] as const;
type AggregateName = (typeof AGGREGATES)[number];
/** From lowest to highest precedence. */
const OPERATORS_BY_PRECEDENCE = [["or"], ["and"], ["==", ">", "<"], ["/"]] as const;
type Operator = (typeof OPERATORS_BY_PRECEDENCE)[number][number];

const TOKEN = /\s*(\d+[smhd]|\d+(?:\.\d+)?(?:e\d+)?|[a-z_]\w*|"[^"]*"|==|=~|!=|[=<>/(){}[\],])/iy;
const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function parseExpression(text: string): Expression {
  const tokens = tokenize(text);
  let at = 0;
  const peek = () => tokens[at] ?? "";
  const take = (expected?: string) => {
    const token = tokens[at++];
    assert.ok(token !== undefined && (expected === undefined || token === expected), `${text}: ${expected} at ${at}`);
    return token;
  };
  function list<T>(open: string, close: string, item: () => T): T[] {
    const items: T[] = [];
    take(open);
    while (peek() !== close) {
      items.push(item());
      if (peek() !== close) take(",");
    }
    take(close);
    return items;
  }
  function binary(level: number): Expression {
    if (level === OPERATORS_BY_PRECEDENCE.length) return primary();
    let left = binary(level + 1);
    while ((OPERATORS_BY_PRECEDENCE[level] as readonly string[]).includes(peek()))
      left = { kind: "binary", sign: take() as Operator, left, right: binary(level + 1) };
    return left;
  }
  function primary(): Expression {
    if (peek() === "(") {
      take("(");
      const within = binary(0);
      take(")");
      return within;
    }
    const name = take();
    if (/^\d/.test(name)) return { kind: "number", value: Number(name) };
    const aggregate = AGGREGATES.find((each) => each === name);
    if (aggregate) {
      const isGrouped = peek() === "by";
      if (isGrouped) take();
      const by = isGrouped ? list("(", ")", () => take()) : [];
      const [of, ...others] = list("(", ")", () => binary(0));
      assert.ok(of && others.length === 0, `${text}: ${name}`);
      return { kind: "aggregate", name: aggregate, by, of };
    }
    if (peek() === "(") {
      const call = FUNCTION_NAMES.find((each) => each === name);
      assert.ok(call, `${text}: the function ${name} is not known here`);
      return { kind: "call", name: call, args: list("(", ")", () => binary(0)) };
    }
    assert.match(name, /^[a-z_]+$/, text);
    const matchers = peek() === "{" ? list("{", "}", matcher) : [];
    return { kind: "selector", name, matchers, rangeMs: peek() === "[" ? range() : null };
  }
  function matcher(): Matcher {
    const [label, sign, value] = [take(), take(), take()];
    assert.ok(sign === "=" || sign === "!=" || sign === "=~", `${text}: ${sign}`);
    return { label, sign, value: JSON.parse(value) };
  }
  function range(): number {
    take("[");
    const [, count, unit] = /^(\d+)([smhd])$/.exec(take())!;
    take("]");
    return Number(count) * UNIT_MS[unit!]!;
  }
  const expression = binary(0);
  assert.equal(at, tokens.length, `${text}: ${peek()} is left over`);
  return expression;
}

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const from = TOKEN.lastIndex;
    const token = TOKEN.exec(text)?.[1];
    assert.ok(token, `${text}: cannot be read at ${from}`);
    tokens.push(token);
  }
  return tokens;
}

/** All labels that an expression groups by. */
export function groupsOf(expression: Expression): string[] {
  if (expression.kind === "binary") return [...groupsOf(expression.left), ...groupsOf(expression.right)];
  if (expression.kind === "call") return expression.args.flatMap(groupsOf);
  return expression.kind === "aggregate" ? [...expression.by, ...groupsOf(expression.of)] : [];
}

/** Yields every selector of an expression. */
export function* selectorsOf(expression: Expression): Generator<Expression & { kind: "selector" }> {
  if (expression.kind === "selector") yield expression;
  else if (expression.kind === "binary") {
    yield* selectorsOf(expression.left);
    yield* selectorsOf(expression.right);
  } else if (expression.kind === "aggregate") yield* selectorsOf(expression.of);
  else if (expression.kind === "call") for (const arg of expression.args) yield* selectorsOf(arg);
}
