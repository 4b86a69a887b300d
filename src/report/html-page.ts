const STYLE = `
:root{color-scheme:light;--ink:#1d2733;--faint:#66727f;--line:#d5dbe1;--more:#0b7a53;--less:#b3372f;--open:#66727f}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:#fff;max-width:800px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin-top:2.2rem}p.lead{color:var(--faint);margin-top:0}
ul.answers{list-style:none;padding:0}ul.answers li{border-left:4px solid var(--open);padding:.1rem 0 .1rem .8rem;margin:.5rem 0}
ul.answers li.more{border-color:var(--more)}ul.answers li.less{border-color:var(--less)}
table{border-collapse:collapse;width:100%;min-width:560px;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}th{font-weight:600}
figure{margin:1.2rem 0;break-inside:avoid}figcaption{font-size:.9rem;color:var(--faint);margin-bottom:.4rem}
.wide{overflow-x:auto;background:linear-gradient(90deg,#fff 40%,#fff0) 0/2rem 100% no-repeat local,linear-gradient(270deg,#fff 40%,#fff0) 100%/2rem 100% no-repeat local,linear-gradient(90deg,var(--line),#fff0) 0/.8rem 100% no-repeat,linear-gradient(270deg,var(--line),#fff0) 100%/.8rem 100% no-repeat}svg{width:100%;min-width:680px;height:auto;font:13px system-ui,sans-serif}svg text{fill:var(--ink)}svg .axis{fill:var(--faint);font-size:12px}
svg .tick{stroke:var(--line)}svg .zero{stroke:var(--ink)}svg .range{stroke-width:3}
svg .more{stroke:var(--more);fill:var(--more)}svg .less{stroke:var(--less);fill:var(--less)}svg .open,svg .same{stroke:var(--open);fill:var(--open)}
ol.rows{list-style:none;padding:0;margin:0;font-size:.85rem;display:grid;grid-template-columns:minmax(0,max-content) minmax(12rem,1fr) max-content;gap:0 .6rem}ol.rows li{display:grid;grid-template-columns:subgrid;grid-column:1/-1;align-items:center;margin:0}
ol.rows svg{display:block;min-width:0}.rows .name{text-align:right}.rows .note{color:var(--faint)}
svg .all{fill:#cfd8e3}svg .part{fill:#2f5d8a}
svg .course{fill:none;stroke-width:2;stroke-linejoin:round}svg .first{--series:#0b7a53}svg .second{--series:#2f5d8a}svg .third{--series:#b26a00}svg .other{--series:#9aa5b1}
svg .course,svg .luck{stroke:var(--series)}svg .dot{fill:var(--series);fill-opacity:.75}svg text.name{fill:var(--series)}svg text.other{fill:var(--faint)}
li{margin:.25rem 0}@media screen and (max-width:40rem){ol.rows{display:block}ol.rows li{grid-template-columns:minmax(0,1fr) max-content;gap:0 .6rem;margin:.5rem 0}.rows .name{text-align:left}.rows .note{text-align:right}ol.rows svg{grid-area:2/1/3/3}
table{min-width:0}table,tbody,tr{display:block}thead{display:none}tr{display:flex;flex-wrap:wrap;padding:.4rem 0;border-bottom:1px solid var(--line)}td{flex:1 1 auto;min-width:45%;padding:.15rem .5rem .15rem 0;border:0}td:empty{display:none}td:first-child{flex-basis:100%;font-weight:600}td+td::before{content:attr(data-head);display:block;font-size:.8rem;color:var(--faint)}}
@media print{body{margin:0;max-width:none;font-size:11pt}.wide{overflow:visible;background:none}svg,table{min-width:0}h2{break-after:avoid}table,ul.answers li{break-inside:avoid}}
`;

export const escapeHtml = (text: string) =>
  text.replace(/[&<>"]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[character]!);

/** `lead` is text, `body` is HTML. */
export const pageHtml = (title: string, lead: string, body: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>
<h1>${escapeHtml(title)}</h1>
<p class="lead">${escapeHtml(lead)}</p>
${body}
</body></html>
`;

/** For wide content, also with the keyboard. Shadows mark hidden content. */
export const scrollableHtml = (kind: string, name: string, markup: string) =>
  `<div class="wide" tabindex="0" role="region" aria-label="${kind}: ${escapeHtml(name)}">${markup}</div>`;

/** On a phone, each cell shows its column's name. */
export const tableHtml = (name: string, head: readonly string[], rows: readonly (readonly string[])[]) => {
  const heads = head.map((each) => `<th>${escapeHtml(each)}</th>`).join("");
  const cell = (text: string, n: number) => `<td data-head="${escapeHtml(head[n]!)}">${escapeHtml(text)}</td>`;
  const body = rows.map((row) => `<tr>${row.map(cell).join("")}</tr>`).join("");
  return scrollableHtml("Table", name, `<table><thead><tr>${heads}</tr></thead>\n<tbody>${body}</tbody></table>`);
};

export const listHtml = (sentences: readonly string[]) =>
  `<ul>${sentences.map((text) => `<li>${escapeHtml(text)}</li>`).join("")}</ul>`;
