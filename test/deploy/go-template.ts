// Renders the templates that go-template-parser.ts reads.
import { FUNCTIONS, isMap, isTrue, printed, type Value } from "./go-template-functions.ts";
import { type Expression, type Node, type Template, TemplateError } from "./go-template-parser.ts";

/** The variables of a block; those of the blocks around it are below as prototypes. */
type Scope = Record<string, Value>;

interface Place {
  file: string;
  line: number;
}

function fieldOf(value: Value, name: string): Value {
  if (!isMap(value))
    throw new Error(`${value === undefined ? "a missing value" : JSON.stringify(value)} has no field "${name}"`);
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Go orders maps by their keys. */
function entriesOf(value: Value): [key: Value, item: Value][] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  if (isMap(value))
    return Object.keys(value)
      .sort()
      .map((key) => [key, value[key]]);
  throw new Error(`range takes a list or a map, not ${JSON.stringify(value)}`);
}

/** Returns a function that renders the template with that name. */
export function createRenderer(templates: ReadonlyMap<string, Template>) {
  const evaluate = (expression: Expression, dot: Value, scope: Scope): Value => {
    if (expression.kind === "literal") return expression.value;
    if (expression.kind === "field") {
      const { base, path } = expression;
      if (base !== "." && !(base in scope)) throw new Error(`variable ${base} is not set`);
      return path.reduce<Value>(fieldOf, base === "." ? dot : scope[base]);
    }
    const { name, args } = expression;
    if (name === "and" || name === "or") {
      if (args.length === 0) throw new Error(`${name} takes arguments`);
      let value: Value;
      for (const each of args) {
        value = evaluate(each, dot, scope);
        if (isTrue(value) === (name === "or")) break;
      }
      return value;
    }
    const words = args.map((each) => evaluate(each, dot, scope));
    if (name === "include") {
      if (words.length !== 2) throw new Error("include takes a name and a value");
      return render(printed(words[0]), words[1]);
    }
    const known = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
    if (!known) throw new Error(`function "${name}" is not supported`);
    if (known.takes !== null && known.takes !== words.length)
      throw new Error(`${name} takes ${known.takes} arguments, not ${words.length}`);
    return known.run(...words);
  };

  const at = <T>({ file, line }: Place, step: () => T): T => {
    try {
      return step();
    } catch (error) {
      if (error instanceof TemplateError) throw error;
      throw new TemplateError(`${file}:${line}: ${(error as Error).message}`);
    }
  };

  const renderNode = (file: string, node: Node, dot: Value, scope: Scope): string => {
    if (node.kind === "text") return node.text;
    const value = at({ file, line: node.line }, () => evaluate(node.value, dot, scope));
    const block = (nodes: readonly Node[], inner: Value, names: Scope = {}) =>
      renderNodes(file, nodes, inner, Object.assign(Object.create(scope) as Scope, names));
    switch (node.kind) {
      case "print":
        return at({ file, line: node.line }, () => printed(value));
      case "set":
        scope[node.name] = value;
        return "";
      case "if":
        return block(isTrue(value) ? node.then : node.otherwise, dot);
      case "with":
        return isTrue(value) ? block(node.then, value) : block(node.otherwise, dot);
      case "range":
        return at({ file, line: node.line }, () => entriesOf(value))
          .map(([key, item]) => {
            const [first, second] = node.names;
            return block(node.then, item, first && second ? { [first]: key, [second]: item } : {});
          })
          .join("");
    }
  };

  const renderNodes = (file: string, nodes: readonly Node[], dot: Value, scope: Scope): string =>
    nodes.map((node) => renderNode(file, node, dot, scope)).join("");

  const render = (name: string, value: Value): string => {
    const template = templates.get(name);
    if (!template) throw new Error(`template "${name}" is not defined`);
    return renderNodes(template.file, template.nodes, value, { $: value });
  };
  return render;
}
