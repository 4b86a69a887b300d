import { type Html, type HtmlPart, html } from "../html.ts";
import { icon } from "./icons.ts";

/** A sheet with a title, one link or tag at its right, and a foot that defines its numbers. */
export const card = (
  { title, side, foot, kind = "" }: { title: HtmlPart; side?: HtmlPart; foot?: HtmlPart; kind?: string },
  body: HtmlPart,
): Html =>
  html`<section class="card ${kind}"><header><h2>${title}</h2>${side && html`<span class="small soft">${side}</span>`}</header>${body}${foot && html`<div class="foot">${foot}</div>`}</section>`;

export interface Choice {
  words: HtmlPart;
  href: string;
  isCurrent: boolean;
}

/** Choices that live in the address. */
export const segments = (label: string, choices: readonly Choice[]): Html =>
  html`<nav class="seg" aria-label="${label}">${choices.map(({ words, href, isCurrent }) => html`<a href="${href}"${isCurrent ? html` aria-current="true"` : ""}>${words}</a>`)}</nav>`;

export const tabs = (label: string, choices: readonly Choice[]): Html =>
  html`<nav class="tabs" aria-label="${label}">${choices.map(({ words, href, isCurrent }) => html`<a href="${href}"${isCurrent ? html` aria-current="page"` : ""}>${words}</a>`)}</nav>`;

/** A menu that opens without script; its name closes another open one. */
export const drop = (words: HtmlPart, body: HtmlPart, kind = "", button = ""): Html =>
  html`<details name="drop" class="drop ${kind}"><summary class="button ${button}">${words}</summary><div>${body}</div></details>`;

/** An active filter, with a link to the same page without it. */
export const filterChip = (words: string, hrefWithout: string): Html =>
  html`<span class="chip">${words}<a href="${hrefWithout}" aria-label="Remove the filter ${words}">${icon("x")}</a></span>`;

export interface FigureCell {
  name: string;
  value: HtmlPart;
  notes: readonly HtmlPart[];
}

/** Figures side by side, divided by lines. */
export const figureStrip = (cells: readonly FigureCell[]): Html =>
  html`<dl class="card figures mb">${cells.map(({ name, value, notes }) => html`<div><dt>${name}</dt><dd class="value">${value}</dd>${notes.map((note) => html`<dd class="note">${note}</dd>`)}</div>`)}</dl>`;

/** A change of a sum. It is a fact, so it has a color. */
export function changeOf(now: number | bigint, before: number | bigint): Html | null {
  const [present, past] = [Number(now), Number(before)];
  if (past === 0) return null;
  const share = (present - past) / past;
  const words = `${Math.abs(share * 100).toFixed(0)}%`;
  if (words === "0%") return html`<span class="delta soft">no change</span>`;
  return html`<span class="delta ${share > 0 ? "good" : "bad"}">${share > 0 ? "▲" : "▼"} ${words}</span>`;
}
