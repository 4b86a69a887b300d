import { type Html, type HtmlPart, html } from "../html.ts";

interface FormField {
  label: string;
  name: string;
  value?: string;
  type?: string;
  hint?: HtmlPart;
  required?: boolean;
  autocomplete?: string;
  maxlength?: number;
  placeholder?: string;
  /** Shown at the field. */
  problem?: string | undefined;
}

export function formField({ label, name, value = "", type = "text", hint, problem, ...rest }: FormField): Html {
  const attributes = html`${rest.required ? html` required` : ""} autocomplete="${rest.autocomplete ?? "off"}" maxlength="${rest.maxlength ?? 255}"${rest.placeholder ? html` placeholder="${rest.placeholder}"` : ""}${describedBy(name, hint, problem)}`;
  return html`<p class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}"${attributes}>${fieldNotes(name, hint, problem)}</p>`;
}

const describedBy = (name: string, hint: HtmlPart, problem: string | undefined): HtmlPart => {
  const ids = [problem && `${name}-problem`, hint && `${name}-hint`].filter(Boolean).join(" ");
  return html`${problem && html` aria-invalid="true"`}${ids && html` aria-describedby="${ids}"`}`;
};

const fieldNotes = (name: string, hint: HtmlPart, problem: string | undefined): Html =>
  html`${problem && html`<small id="${name}-problem" class="bad">${problem}</small>`}${hint && html`<small id="${name}-hint">${hint}</small>`}`;

export const selectField = (
  label: string,
  name: string,
  choices: readonly (readonly [value: string, words: string])[],
  selected: string,
  { hint, problem }: { hint?: HtmlPart; problem?: string | undefined } = {},
): Html => html`<p class="field"><label for="${name}">${label}</label>
<select id="${name}" name="${name}"${describedBy(name, hint, problem)}>${choices.map(([value, words]) => html`<option value="${value}"${value === selected ? html` selected` : ""}>${words}</option>`)}</select>${fieldNotes(name, hint, problem)}</p>`;

export const formButton = (action: string, words: string, hidden: Record<string, string> = {}, kind = ""): Html =>
  html`<form method="post" action="${action}" class="inline">${hiddenFields(hidden)}<button class="${kind}">${words}</button></form>`;

export const hiddenFields = (values: Record<string, string>): Html =>
  html`${Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;

export const formNotice = (kind: "good" | "bad" | "warn", text: HtmlPart): Html =>
  html`<div class="notice ${kind}" role="${kind === "bad" ? "alert" : "status"}">${text}</div>`;
