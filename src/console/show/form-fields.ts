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
}

export function formField({ label, name, value = "", type = "text", hint, ...rest }: FormField): Html {
  const attributes = html`${rest.required ? html` required` : ""} autocomplete="${rest.autocomplete ?? "off"}" maxlength="${rest.maxlength ?? 255}"${rest.placeholder ? html` placeholder="${rest.placeholder}"` : ""}${hint ? html` aria-describedby="${name}-hint"` : ""}`;
  return html`<p class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}"${attributes}>${hint ? html`<small id="${name}-hint">${hint}</small>` : null}</p>`;
}

export const selectField = (
  label: string,
  name: string,
  choices: readonly (readonly [value: string, words: string])[],
  selected: string,
): Html => html`<p class="field"><label for="${name}">${label}</label>
<select id="${name}" name="${name}">${choices.map(([value, words]) => html`<option value="${value}"${value === selected ? html` selected` : ""}>${words}</option>`)}</select></p>`;

export const formButton = (action: string, words: string, hidden: Record<string, string> = {}, kind = ""): Html =>
  html`<form method="post" action="${action}" class="inline">${hiddenFields(hidden)}<button class="${kind}">${words}</button></form>`;

export const hiddenFields = (values: Record<string, string>): Html =>
  html`${Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;

export const formNotice = (kind: "good" | "bad" | "warn", text: HtmlPart): Html =>
  html`<div class="notice ${kind}" role="${kind === "bad" ? "alert" : "status"}">${text}</div>`;
