// The part of Go's text/template that the chart uses. It refuses everything else, so that no test passes by a misreading.

/** A template that cannot be read or rendered. The message begins with file and line. */
export class TemplateError extends Error {}

export type Expression =
  | { kind: "literal"; value: string | number | boolean }
  /** `base` is "." or the name of a variable; "$" is the argument of the template. */
  | { kind: "field"; base: string; path: readonly string[] }
  | { kind: "call"; name: string; args: readonly Expression[] };

export type Node =
  | { kind: "text"; text: string }
  | { kind: "print"; line: number; value: Expression }
  | { kind: "set"; line: number; name: string; value: Expression }
  | { kind: "if" | "with"; line: number; value: Expression; then: readonly Node[]; otherwise: readonly Node[] }
  /** `names` are the variables of key and item, or none. */
  | { kind: "range"; line: number; value: Expression; names: readonly string[]; then: readonly Node[] };

export interface Template {
  file: string;
  nodes: readonly Node[];
}

interface Piece {
  line: number;
  /** The words of an action, or null for a text. */
  words: readonly string[] | null;
  text: string;
}

const ACTION = /\{\{(-(?=\s))?([\s\S]*?)((?<=\s)-)?\}\}/g;
const COMMENT = /^\s*\/\*[\s\S]*\*\/\s*$/;
const WORD =
  /\s+|:=|[|(),]|"(?:[^"\\\n]|\\["\\nt])*"|\d+(?![\w.])|\$\w*(?:\.\w+)*|\.(?:[A-Za-z_]\w*(?:\.\w+)*)?|[A-Za-z_]\w*/y;
const KEYWORDS = ["if", "else", "end", "with", "range", "define"];

function splitWords(body: string, refuse: (reason: string) => never): string[] {
  const words: string[] = [];
  let before = "";
  WORD.lastIndex = 0;
  while (WORD.lastIndex < body.length) {
    const from = WORD.lastIndex;
    const word = WORD.exec(body)?.[0];
    if (word === undefined) refuse(`cannot read "${body.slice(from).trim()}"`);
    if (before === ")" && word.startsWith(".")) refuse("a field of parentheses is not supported");
    if (word.trim() !== "") words.push(word);
    before = word;
  }
  return words;
}

/** Splits a file into texts and actions, and trims the white space beside `{{-` and `-}}`. */
function splitPieces(file: string, text: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  let trimsNext = false;
  const addText = (part: string, trimsEnd: boolean) => {
    const start = trimsNext ? part.trimStart() : part;
    const kept = trimsEnd ? start.trimEnd() : start;
    if (kept.includes("{{")) throw new TemplateError(`${file}: an action has no end`);
    if (kept !== "") pieces.push({ line: 0, words: null, text: kept });
  };
  for (const match of text.matchAll(ACTION)) {
    const line = text.slice(0, match.index).split("\n").length;
    addText(text.slice(end, match.index), match[1] !== undefined);
    trimsNext = match[3] !== undefined;
    end = match.index + match[0].length;
    if (COMMENT.test(match[2]!)) continue;
    const refuse = (reason: string): never => {
      throw new TemplateError(`${file}:${line}: ${reason}`);
    };
    pieces.push({ line, words: splitWords(match[2]!, refuse), text: match[0] });
  }
  addText(text.slice(end), false);
  return pieces;
}

function parseOperand(words: string[], refuse: (reason: string) => never): Expression {
  const word = words.shift();
  if (word === undefined || [")", "|", ",", ":="].includes(word)) refuse(`a value is missing before "${word ?? "}}"}"`);
  if (word === "(") {
    const value = parsePipeline(words, refuse);
    if (words.shift() !== ")") refuse("a parenthesis has no end");
    return value;
  }
  if (word.startsWith('"')) return { kind: "literal", value: JSON.parse(word) as string };
  if (/^\d/.test(word)) return { kind: "literal", value: Number(word) };
  if (word === "true" || word === "false") return { kind: "literal", value: word === "true" };
  if (word.startsWith(".")) return { kind: "field", base: ".", path: word.split(".").filter(Boolean) };
  if (word.startsWith("$")) return { kind: "field", base: word.split(".")[0]!, path: word.split(".").slice(1) };
  if (KEYWORDS.includes(word)) refuse(`"${word}" is no value`);
  return { kind: "call", name: word, args: [] };
}

/** Reads `function operand … | function operand …`; the value before a bar is the last argument behind it. */
function parsePipeline(words: string[], refuse: (reason: string) => never): Expression {
  let before: Expression | null = null;
  while (true) {
    const head = parseOperand(words, refuse);
    const args: Expression[] = [];
    while (words.length > 0 && words[0] !== "|" && words[0] !== ")") args.push(parseOperand(words, refuse));
    if (before) args.push(before);
    if (head.kind !== "call" && args.length > 0) refuse("only a function takes arguments");
    before = head.kind === "call" ? { ...head, args } : head;
    if (words[0] !== "|") return before;
    words.shift();
  }
}

/** Returns the templates that a file defines, by name, and the file itself under its own name. */
export function parseTemplates(file: string, text: string): Map<string, Template> {
  const pieces = splitPieces(file, text);
  const defined = new Map<string, Template>();
  let at = 0;

  /** Reads nodes up to `end` or `else`, and leaves that piece to the caller; `opened` is null for the file. */
  const parseNodes = (opened: number | null): Node[] => {
    const nodes: Node[] = [];
    for (; at < pieces.length; at++) {
      const { line, words, text } = pieces[at]!;
      if (words === null) nodes.push({ kind: "text", text });
      else if (words[0] === "end" || words[0] === "else") {
        if (opened === null) throw new TemplateError(`${file}:${line}: "${words[0]}" closes nothing`);
        return nodes;
      } else {
        const node = parseAction(line, [...words], opened === null);
        if (node) nodes.push(node);
      }
    }
    if (opened !== null) throw new TemplateError(`${file}:${opened}: a block has no end`);
    return nodes;
  };

  const parseAction = (line: number, words: string[], isTop: boolean): Node | null => {
    const refuse = (reason: string): never => {
      throw new TemplateError(`${file}:${line}: ${reason}`);
    };
    const finish = (): Expression => {
      const value = parsePipeline(words, refuse);
      if (words.length > 0) refuse(`"${words[0]}" is out of place`);
      return value;
    };
    const block = (): Node[] => {
      at++;
      return parseNodes(line);
    };
    const closes = () => {
      if (pieces[at]!.words!.join(" ") !== "end") refuse(`"${pieces[at]!.words!.join(" ")}" is not supported here`);
    };
    if (words[0] === "define") {
      const name = /^"(.+)"$/.exec(words[1] ?? "")?.[1];
      if (!isTop || name === undefined || words.length > 2)
        return refuse("a definition has one name, and is in no block");
      if (defined.has(name)) refuse(`"${name}" is defined twice`);
      defined.set(name, { file, nodes: block() });
      closes();
      return null;
    }
    if (words[0] === "if" || words[0] === "with") {
      const kind = words.shift() as "if" | "with";
      const value = finish();
      const then = block();
      let otherwise: Node[] = [];
      if (pieces[at]!.words!.join(" ") === "else") otherwise = block();
      closes();
      return { kind, line, value, then, otherwise };
    }
    if (words[0] === "range") {
      const pair = /^range (\$\w+) , (\$\w+) := /.exec(`${words.slice(0, 5).join(" ")} `);
      words.splice(0, pair ? 5 : 1);
      const value = finish();
      const then = block();
      closes();
      return { kind: "range", line, value, names: pair ? [pair[1]!, pair[2]!] : [], then };
    }
    if (words[1] === ":=" && /^\$\w+$/.test(words[0]!)) {
      const [name] = words.splice(0, 2);
      return { kind: "set", line, name: name!, value: finish() };
    }
    return { kind: "print", line, value: finish() };
  };

  const nodes = parseNodes(null);
  return defined.set(file, { file, nodes });
}
