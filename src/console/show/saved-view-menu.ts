import type { SavedView } from "../../tables/saved-views.ts";
import { type Html, html } from "../html.ts";
import { hiddenFields } from "./form-fields.ts";
import { filtersOf } from "./list-page.ts";
import { drop } from "./parts.ts";

/** The person's views of a list, and a form that saves the current one. */
export function savedViewMenu(views: readonly SavedView[], path: string, query: URLSearchParams): Html {
  const current = `${filtersOf(query)}`;
  const rows = views.map(
    ({
      name,
      query: saved,
    }) => html`<li><a href="${saved === "" ? path : `${path}?${saved}`}"${saved === current ? html` aria-current="true"` : ""}>${name}</a>
<form method="post" action="/views/delete">${hiddenFields({ path, name, query: current })}<button class="plain" aria-label="Delete the view ${name}">Delete</button></form></li>`,
  );
  return drop(
    "Views",
    html`${views.length > 0 && html`<ul class="views">${rows}</ul>`}
<form method="post" action="/views" class="save-view"><label for="view-name">Save these filters as</label>
<div><input id="view-name" name="name" required maxlength="60" autocomplete="off"><button>Save</button></div>${hiddenFields({ path, query: current })}</form>`,
    "views-menu",
  );
}
