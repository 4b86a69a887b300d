/** HTML that is safe to put into a page as it is. */
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

/** Any text as HTML that shows it. */
export const escapeHtml = (text: string): Html => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);

/** The text that such HTML shows. */
export const unescapeHtml = (html: Html): string =>
  html.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => CHARACTERS_BY_ENTITY.get(entity)!);

/** A line of a description: what stands between backticks is code. */
export const renderInline = (text: string): Html =>
  text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? `<code>${escapeHtml(part)}</code>` : escapeHtml(part)))
    .join("");

/** A description: paragraphs are set apart by an empty line. */
export const renderProse = (text: string): Html =>
  text
    .split("\n\n")
    .map((paragraph) => `<p>${renderInline(paragraph)}</p>`)
    .join("\n");

export const inlineCode = (text: string): Html => `<code>${escapeHtml(text)}</code>`;

/** Text in lines, as it is. It can be reached by the keyboard, because it may be too wide. */
export const codeBlock = (label: string, text: string): Html =>
  `<figure><figcaption>${escapeHtml(label)}</figcaption><pre tabindex="0">${escapeHtml(text)}</pre></figure>`;

/** Rows under their headings; cells are HTML. */
export const htmlTable = (headings: readonly string[], rows: readonly (readonly Html[])[]): Html =>
  `<div class="wide" tabindex="0"><table><thead><tr>${headings.map((each) => `<th scope="col">${escapeHtml(each)}</th>`).join("")}</tr></thead><tbody>
${rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("\n")}
</tbody></table></div>`;
