import { type Html, html } from "../html.ts";

/** Paths on a 16 by 16 grid. */
const PATHS = {
  overview: html`<path d="M2.5 7.5 8 3l5.5 4.5V13a.5.5 0 0 1-.5.5H3a.5.5 0 0 1-.5-.5z"/><path d="M6.5 13.5v-4h3v4"/>`,
  analytics: html`<path d="M2.5 13.5h11M4.5 11V8M8 11V3.5M11.5 11V6"/>`,
  invoices: html`<path d="M3.5 2.5h9v11l-2-1.3-2.5 1.3-2.5-1.3-2 1.3zM6 6h4M6 8.7h4"/>`,
  actions: html`<path d="M13 8a5 5 0 1 1-1.5-3.6M13.3 2.5v3h-3"/>`,
  experiments: html`<path d="M6.2 2.5h3.6M6.9 2.5v4L3.3 12a1 1 0 0 0 .8 1.5h7.8a1 1 0 0 0 .8-1.5L9.1 6.5v-4M5 10h6"/>`,
  deliveries: html`<path d="m2.5 7.5 11-5-4 11-2.3-4.7z"/><path d="m7.2 8.8 2.5-2.5"/>`,
  connection: html`<path d="M6.5 9.5 9.5 6.5M5 7.5 3.6 8.9a2.5 2.5 0 0 0 3.5 3.5L8.5 11M7.5 5l1.4-1.4a2.5 2.5 0 0 1 3.5 3.5L11 8.5"/>`,
  import: html`<path d="M8 10V2.5M5 5.5l3-3 3 3M2.5 10.5v2a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-2"/>`,
  history: html`<path d="M3 8a5 5 0 1 0 1.5-3.6M2.7 2.5v3h3M8 5.5V8l1.8 1.2"/>`,
  attention: html`<path d="M8 2.5 14 13H2zM8 6.5v3M8 11.2v.1"/>`,
  settings: html`<path d="M2.5 4.5h6M12 4.5h1.5M2.5 11.5H4M7.5 11.5h6"/><circle cx="10.2" cy="4.5" r="1.7"/><circle cx="5.8" cy="11.5" r="1.7"/>`,
  bell: html`<path d="M4 7a4 4 0 0 1 8 0c0 3 1.5 4 1.5 4h-11S4 10 4 7M6.7 13.3a1.5 1.5 0 0 0 2.6 0"/>`,
  endpoint: html`<circle cx="8" cy="8" r="2"/><path d="M8 2v2M8 12v2M2 8h2M12 8h2M3.8 3.8l1.4 1.4M10.8 10.8l1.4 1.4M3.8 12.2l1.4-1.4M10.8 5.2l1.4-1.4"/>`,
  key: html`<circle cx="5.3" cy="10.7" r="2.8"/><path d="m7.3 8.7 6-6M11 5l1.8 1.8"/>`,
  people: html`<circle cx="6" cy="5.5" r="2.3"/><path d="M2 13.3c0-2.5 1.7-4 4-4s4 1.5 4 4M10.5 3.5a2.2 2.2 0 0 1 0 4M11.5 9.5c1.6.4 2.5 1.8 2.5 3.8"/>`,
  book: html`<path d="M3 3.5c2-.7 3.7-.5 5 .6 1.3-1.1 3-1.3 5-.6v9c-2-.7-3.7-.5-5 .6-1.3-1.1-3-1.3-5-.6zM8 4.1v9"/>`,
  find: html`<circle cx="7" cy="7" r="4.3"/><path d="m10.3 10.3 3.2 3.2"/>`,
  menu: html`<path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11"/>`,
  x: html`<path d="m4 4 8 8M12 4l-8 8"/>`,
  ok: html`<path d="m3 8.5 3.2 3.2L13 5"/>`,
  down: html`<path d="M8 3v8M5 8l3 3 3-3M3 13.5h10"/>`,
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration: the words beside it name the thing. */
export const icon = (name: IconName): Html =>
  html`<svg class="i" viewBox="0 0 16 16" aria-hidden="true">${PATHS[name]}</svg>`;

export const DUNLIN_MARK: Html = html`<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#0a5c78"/><path d="M5.5 17.5c4.5-6.5 10-8 13.3-4.6l7.7-2.7-5.3 5.6c-.9 5.2-5.7 8.3-11 7.3 3-1 4.2-2.6 4.3-4.2-3-.1-5.7-.3-9-1.4z" fill="#fff"/><path d="M9 15.7c2.8-3.1 6-4.3 8.4-3-1.6 2.3-4.6 3.5-8.4 3z" fill="#e0936b"/></svg>`;

/** Fills for charts, once a page. */
export const PATTERNS: Html = html`<svg class="hidden" aria-hidden="true"><defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="c-hatch" x1="0" x2="0" y1="0" y2="5"/></pattern><pattern id="hatch-bad" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="c-hatch-bad" x1="0" x2="0" y1="0" y2="6"/></pattern></defs></svg>`;
