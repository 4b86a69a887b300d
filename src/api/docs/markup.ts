export type Html = string;

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const CHARACTERS_BY_ENTITY: ReadonlyMap<string, string> = new Map(
  Object.entries(ESCAPES).map(([character, entity]) => [entity, character]),
);

export const escapeHtml = (text: string): Html => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);

export const unescapeHtml = (html: Html): string =>
  html.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => CHARACTERS_BY_ENTITY.get(entity)!);

/** Text between backticks becomes code. */
export const renderInline = (text: string): Html =>
  text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? `<code>${escapeHtml(part)}</code>` : escapeHtml(part)))
    .join("");

/** An empty line separates paragraphs. */
export const renderProse = (text: string): Html =>
  text
    .split("\n\n")
    .map((paragraph) => `<p>${renderInline(paragraph)}</p>`)
    .join("\n");

export const inlineCode = (text: string): Html => `<code>${escapeHtml(text)}</code>`;

/** Focusable, so that wide blocks can be scrolled with the keyboard. */
export const codeBlock = (label: string, text: string): Html =>
  `<figure><figcaption>${escapeHtml(label)}</figcaption><pre tabindex="0">${escapeHtml(text)}</pre></figure>`;

export const htmlTable = (headings: readonly string[], rows: readonly (readonly Html[])[]): Html =>
  `<div class="wide" tabindex="0"><table><thead><tr>${headings.map((each) => `<th scope="col">${escapeHtml(each)}</th>`).join("")}</tr></thead><tbody>
${rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("\n")}
</tbody></table></div>`;
