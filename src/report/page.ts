const STYLE = `
:root{color-scheme:light;--ink:#1d2733;--faint:#66727f;--line:#d5dbe1;--more:#0b7a53;--less:#b3372f;--open:#66727f}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:#fff;max-width:800px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin-top:2.2rem}p.lead{color:var(--faint);margin-top:0}
ul.answers{list-style:none;padding:0}ul.answers li{border-left:4px solid var(--open);padding:.1rem 0 .1rem .8rem;margin:.5rem 0}
ul.answers li.more{border-color:var(--more)}ul.answers li.less{border-color:var(--less)}
table{border-collapse:collapse;width:100%;min-width:560px;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}th{font-weight:600}
figure{margin:1.2rem 0;break-inside:avoid}figcaption{font-size:.9rem;color:var(--faint);margin-bottom:.4rem}
.wide{overflow-x:auto}svg{width:100%;min-width:680px;height:auto;font:13px system-ui,sans-serif}svg text{fill:var(--ink)}svg .axis{fill:var(--faint);font-size:12px}
svg .tick{stroke:var(--line)}svg .zero{stroke:var(--ink)}svg .range{stroke-width:3}
svg .more{stroke:var(--more);fill:var(--more)}svg .less{stroke:var(--less);fill:var(--less)}svg .open,svg .same{stroke:var(--open);fill:var(--open)}
svg .all{fill:#cfd8e3}svg .part{fill:#2f5d8a}
svg .course{fill:none;stroke-width:2;stroke-linejoin:round}svg .first{--series:#0b7a53}svg .second{--series:#2f5d8a}svg .third{--series:#b26a00}svg .other{--series:#9aa5b1}
svg .course,svg .luck{stroke:var(--series)}svg .dot{fill:var(--series);fill-opacity:.75}svg text.name{fill:var(--series)}svg text.other{fill:var(--faint)}
li{margin:.25rem 0}@media print{body{margin:0;max-width:none;font-size:11pt}.wide{overflow:visible}svg,table{min-width:0}h2{break-after:avoid}table,ul.answers li{break-inside:avoid}}
`;

/** Text inside markup. */
export const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]!);

/** A report on one page that needs nothing else, to be read by people and printed. `lead` is text, `body` markup. */
export const pageHtml = (title: string, lead: string, body: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(title)}</title><style>${STYLE}</style></head><body>
<h1>${escaped(title)}</h1>
<p class="lead">${escaped(lead)}</p>
${body}
</body></html>
`;

/** What may be wider than the page scrolls in a box of its own, by keys, too. */
export const scrolled = (kind: string, name: string, markup: string) =>
  `<div class="wide" tabindex="0" role="region" aria-label="${kind}: ${escaped(name)}">${markup}</div>`;

/** A table with that name. Cells are text. */
export const tableHtml = (name: string, head: readonly string[], rows: readonly (readonly string[])[]) => {
  const cells = (of: readonly string[], tag: string) => of.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("");
  const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("");
  return scrolled("Table", name, `<table><thead><tr>${cells(head, "th")}</tr></thead>\n<tbody>${body}</tbody></table>`);
};

/** Sentences as a list. */
export const listHtml = (sentences: readonly string[]) =>
  `<ul>${sentences.map((words) => `<li>${escaped(words)}</li>`).join("")}</ul>`;
