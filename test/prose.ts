// `node test/prose.ts`: fails if the English of a folder strays from the limits below; with --worst N, lists the sentences to rewrite.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/** Per 1,000 words, except the last, which is a fraction of sentences. A rare word may occur twice in a small folder. */
const LIMITS = { what: 3, who: 2, of: 25, old: 1, long: 0.08 } as const;
const FREE_OCCURRENCES = 2;
const LONG_SENTENCE_WORDS = 25;

/** "20% of the amount", "most of them" and "instead of" have no shorter form. */
const OF =
  /(?<!(\d%?|\b(instead|out|because|ahead|number|regardless|percent|points?|one|two|all|each|both|most|many|some|half|third|quarter|tenth|twentieth|fraction|share)) )\bof\b/gi;
/** A question, "what to do" and "what happens" are plain English. */
const WHAT = /\bwhat\b(?! (to|happens|happened|changes|changed)\b)/gi;
/** "A customer who pays" is plain English. */
const WHO =
  /(?<!\b(person|people|customers?|merchants?|engineers?|operators?|owners?|users?|members?) )\bwho\b|\b(whoever|nobody|whatever)\b/gi;
/** Words that the glossary replaces. */
const OLD =
  /\b(anew|of late|but for|mend(s|ed)?|dearer|moments?|tries|(first|second|last|next|new) try|poke[ds]?|strangers?|by lot|drawn|told|said|heeded|looked at|(newer|newest|unpaid|paid|same) (copy|copies)|(a|the|another|other|each|next|earlier|latest|of) bills?|as long as|whoever|nobody)\b/gi;

interface Sentence {
  file: string;
  line: number;
  words: string;
}

/** The comments of a TypeScript file, with the lines on which they begin. */
function commentsOf(text: string): { at: number; words: string }[] {
  const found: { at: number; words: string; end: number; isLine: boolean }[] = [];
  const skipTemplate = (from: number): number => {
    let i = from + 1;
    for (; i < text.length && text[i] !== "`"; i++)
      if (text[i] === "\\") i++;
      else if (text.startsWith("${", i)) i = scan(i + 2, "}");
    return i;
  };
  const add = (start: number, end: number, words: string, isLine: boolean) => {
    const last = found.at(-1);
    const clean = words.replace(/^\s*\* ?/gm, "").replace(/`[^`]*`/g, "X");
    if (isLine && last?.isLine && /^\n[ \t]*$/.test(text.slice(last.end, start))) {
      last.words += `\n${clean}`;
      last.end = end;
    } else found.push({ at: text.slice(0, start).split("\n").length, words: clean, end, isLine });
  };
  const scan = (from: number, close: string | null): number => {
    let depth = 0;
    let before = "(";
    for (let i = from; i < text.length; i++) {
      const c = text[i]!;
      if (c === close && depth === 0) return i;
      if (c === "{") depth++;
      if (c === "}") depth--;
      if (text.startsWith("//", i)) {
        const end = text.indexOf("\n", i) < 0 ? text.length : text.indexOf("\n", i);
        add(i, end, text.slice(i + 2, end), true);
        i = end - 1;
      } else if (text.startsWith("/*", i)) {
        const end = text.indexOf("*/", i + 2);
        add(i, end + 2, text.slice(i + 2, end).replace(/^\*/, ""), false);
        i = end + 1;
      } else if (c === "/" && /[(,=:[!&|?{};+>]|return$/.test(before)) {
        for (let inClass = false; ++i < text.length && (inClass || text[i] !== "/") && text[i] !== "\n"; )
          if (text[i] === "\\") i++;
          else if (text[i] === "[") inClass = true;
          else if (text[i] === "]") inClass = false;
      } else if (c === "`") i = skipTemplate(i);
      else if (c === '"' || c === "'")
        while (++i < text.length && text[i] !== c && text[i] !== "\n") if (text[i] === "\\") i++;
      if (!/\s/.test(c)) before = /\w/.test(c) && /\w$/.test(before) ? before + c : c;
    }
    return text.length;
  };
  scan(0, null);
  return found.flatMap(({ at, words }) =>
    words.split(/@\w+\s+(?:\w+\s{2,})?|\n\s*- /).map((part) => ({ at, words: part })),
  );
}

/** The paragraphs of a document without code and headings. */
function paragraphsOf(text: string): { at: number; words: string }[] {
  const found: { at: number; words: string }[] = [];
  let isCode = false;
  let isOpen = false;
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    if (isCode || /^\s*(```|$)|^#|^\s*\[.*\]:|^\s*<!--/.test(line)) {
      isOpen = false;
      continue;
    }
    const words = line
      .replace(/^\s*(-|\*|\d+\.|>)\s+/, "")
      .replace(/`[^`]*`/g, "X")
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/\*\*/g, "");
    if (line.startsWith("|")) {
      for (const cell of words.split("|"))
        if (cell.trim().split(/\s+/).length > 5) found.push({ at: index + 1, words: cell });
      isOpen = false;
    } else if (isOpen && !/^\s*(-|\*|\d+\.|>)\s/.test(line)) found.at(-1)!.words += `\n${words}`;
    else {
      found.push({ at: index + 1, words });
      isOpen = true;
    }
  }
  return found;
}

const titlesOf = (text: string) =>
  [...text.matchAll(/\b(?:test|it)\(\s*(["'`])((?:(?!\1).)*)\1/g)].map((match) => ({
    at: text.slice(0, match.index).split("\n").length,
    words: match[2]!,
  }));

/** The folder whose figures a file belongs to. Generated files and measurements have none. */
function areaOf(file: string): string | null {
  if (/^(openapi|llms|schema)|^docs\/(reference|measurements|sources)|node_modules/.test(file)) return null;
  if (file.endsWith(".test.ts")) return `test titles in ${file.split("/")[0]}`;
  if (/\.md$/.test(file))
    return file.startsWith("docs/decisions/")
      ? "docs/decisions"
      : file.includes("/")
        ? "docs"
        : "documents at the root";
  if (/^src\/.*\/.*\.ts$/.test(file)) return file.split("/").slice(0, 2).join("/");
  return /^(src|sdk|simulator|connectors|lab|bench)\/.*\.ts$/.test(file) ? file.split("/")[0]! : null;
}

const files = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n").filter(Boolean);
const sentences = new Map<string, Sentence[]>();
for (const file of files) {
  const area = areaOf(file);
  if (area === null) continue;
  const text = readFileSync(join(ROOT, file), "utf8");
  const pieces = file.endsWith(".md")
    ? paragraphsOf(text)
    : file.endsWith(".test.ts")
      ? titlesOf(text)
      : commentsOf(text);
  const found = pieces.flatMap(({ at, words }) =>
    words
      .replace(/\s+/g, " ")
      .split(/(?<=[.!?;])\s+(?=[A-Z0-9"`(])/)
      .filter((sentence) => sentence.trim().split(" ").length > 3)
      .map((sentence) => ({ file, line: at, words: sentence.trim() })),
  );
  sentences.set(area, [...(sentences.get(area) ?? []), ...found]);
}

const countIn = (all: readonly Sentence[], pattern: RegExp) =>
  all.reduce((sum, { words }) => sum + (words.match(pattern)?.length ?? 0), 0);
const wordCount = ({ words }: Sentence) => words.split(" ").length;
const isQuestion = ({ words }: Sentence) => words.endsWith("?");

const problems: string[] = [];
for (const [area, all] of [...sentences].sort()) {
  const words = all.reduce((sum, sentence) => sum + wordCount(sentence), 0);
  const counts = {
    what: countIn(
      all.filter((sentence) => !isQuestion(sentence)),
      WHAT,
    ),
    who: countIn(all, WHO),
    of: countIn(all, OF),
    old: countIn(all, OLD),
  };
  for (const [name, count] of Object.entries(counts) as [keyof typeof counts, number][]) {
    const rate = (1000 * count) / Math.max(words, 1);
    if (count > FREE_OCCURRENCES && rate > LIMITS[name])
      problems.push(`${area}: "${name}" ${rate.toFixed(1)} times per 1,000 words, at most ${LIMITS[name]}`);
  }
  const long = all.filter((sentence) => wordCount(sentence) > LONG_SENTENCE_WORDS).length / Math.max(all.length, 1);
  if (long > LIMITS.long)
    problems.push(
      `${area}: ${(100 * long).toFixed(0)}% of the sentences have over ${LONG_SENTENCE_WORDS} words, at most ${100 * LIMITS.long}%`,
    );
}
const worst = process.argv.includes("--worst") ? Number(process.argv[process.argv.indexOf("--worst") + 1]) : 0;
const weightOf = (sentence: Sentence) =>
  10 * (countIn([sentence], WHO) + countIn([sentence], OLD) + (isQuestion(sentence) ? 0 : countIn([sentence], WHAT))) +
  Math.max(0, wordCount(sentence) - LONG_SENTENCE_WORDS);
for (const { file, line, words } of [...sentences.values()]
  .flat()
  .sort((a, b) => weightOf(b) - weightOf(a))
  .slice(0, worst))
  console.log(`${file}:${line}  ${words}`);
for (const problem of problems) console.error(problem);
if (problems.length > 0)
  console.error("Rewrite the text, or see the worst sentences with: node test/prose.ts --worst 20");
process.exitCode = problems.length > 0 ? 1 : 0;
