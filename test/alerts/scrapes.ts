import assert from "node:assert/strict";

export type Labels = Readonly<Record<string, string>>;

/** The metrics of an instance at one time; `text` is null if it did not answer. */
export interface Scrape {
  instance: string;
  atMs: number;
  text: string | null;
}

export interface Series {
  labels: Labels;
  samples: { atMs: number; value: number }[];
}

const JOB = "dunlin";
const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Returns the series of a metric over scrapes, with the labels that Prometheus adds. `up` is set by the scrape itself. */
export function seriesOf(scrapes: readonly Scrape[], name: string): Series[] {
  const found = new Map<string, Series>();
  for (const { instance, atMs, text } of scrapes) {
    const lines = name === "up" ? [`up ${text === null ? 0 : 1}`] : linesOf(text, name);
    for (const line of lines) {
      const [, , inner, value] = LINE.exec(line) ?? assert.fail(line);
      const own = Object.fromEntries([...(inner ?? "").matchAll(LABEL)].map(([, label, text]) => [label, text!]));
      const labels: Labels = { ...own, job: JOB, instance };
      const key = JSON.stringify(Object.entries(labels).sort());
      const series = found.get(key) ?? { labels, samples: [] };
      found.set(key, series);
      series.samples.push({ atMs, value: Number(value === "+Inf" ? "Infinity" : value) });
    }
  }
  return [...found.values()];
}

const linesOf = (text: string | null, name: string): string[] =>
  (text ?? "").split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));

/** Returns the names of all series of a scrape, with the labels of each. */
export function metricLabelsIn(text: string): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const line of text.split("\n")) {
    const [, name, inner] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const labels = names.get(name) ?? new Set();
    for (const [, label] of (inner ?? "").matchAll(LABEL)) labels.add(label!);
    names.set(name, labels);
  }
  return names;
}
