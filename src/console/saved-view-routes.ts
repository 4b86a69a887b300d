import { deleteView, listSavedViews, type SavedView, saveView } from "../tables/saved-views.ts";
import { type Console, redirectTo } from "./console.ts";
import { html } from "./html.ts";
import { PageError } from "./page-error.ts";
import type { Page } from "./page-layout.ts";
import { withQuery } from "./page-query.ts";
import { formField, formNotice, hiddenFields } from "./show/form-fields.ts";
import { filtersOf, type ListViews, SAVED } from "./show/list-page.ts";
import { savedViewMenu } from "./show/saved-view-menu.ts";
import type { Visit } from "./visit.ts";

const LIST_PATHS = ["/actions", "/invoices", "/deliveries"] as const;
const NAME_CHARACTERS_MAX = 60;
const QUERY_CHARACTERS_MAX = 4_000;
/** A menu stays readable. */
const VIEWS_MAX = 30;

export function savedViewRoutes({ post, ports }: Console) {
  post("/views", null, async (visit) => {
    const { db, merchantId, person, form, reply } = visit;
    const list = readList(form);
    const { path, query } = list;
    const name = readName(form);
    const problem = findProblem(name, query);
    if (problem !== null) return viewPage(list, name, problem, null);
    const namesake = findNamesake(await listSavedViews(db, merchantId, person.id, path), name);
    if (namesake !== null && form.get("replace") !== namesake)
      return viewPage(
        list,
        name,
        `You have a view “${namesake}” already. Choose another name, or replace it.`,
        namesake,
      );
    const isSaved = await db.transaction(async (tx) => {
      if (namesake !== null) await deleteView(tx, merchantId, person.id, path, namesake);
      return saveView(tx, merchantId, person.id, path, { name, query }, ports.now(), VIEWS_MAX);
    });
    if (!isSaved) return viewPage(list, name, `A list can have ${VIEWS_MAX} views. Delete one first.`, null, 409);
    return redirectTo(reply, withQuery(path, new URLSearchParams(query), { [SAVED]: name }));
  });
  post("/views/delete", null, async ({ db, merchantId, person, form, reply }) => {
    const { path, href } = readList(form);
    await deleteView(db, merchantId, person.id, path, readName(form));
    return redirectTo(reply, href);
  });
}

/** Names that differ only by case would look alike. */
const findNamesake = (views: readonly SavedView[], name: string) =>
  views.find((each) => each.name.toLowerCase() === name.toLowerCase())?.name ?? null;

/** They would show the name in another order. */
const BIDIRECTIONAL_CONTROL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

function findProblem(name: string, query: string): string | null {
  if (name === "" || name.length > NAME_CHARACTERS_MAX)
    return `The name must have 1 to ${NAME_CHARACTERS_MAX} characters.`;
  if (/\p{Cc}/u.test(name) || BIDIRECTIONAL_CONTROL.test(name))
    return "The name contains a character that cannot be seen, such as one that changes the direction of text. Type it again.";
  return query.length > QUERY_CHARACTERS_MAX ? "This view has too many filters to be saved." : null;
}

/** The form again, with what was typed. @param namesake  the view that it can replace */
function viewPage(
  { path, query, href }: ReturnType<typeof readList>,
  name: string,
  problem: string,
  namesake: string | null,
  status = namesake === null ? 400 : 409,
): Page {
  return {
    title: "Save a view",
    status,
    body: html`<form method="post" action="/views" class="card rule-form">${hiddenFields({ path, query })}
${formField({ label: "Save these filters as", name: "name", value: name, required: true, maxlength: NAME_CHARACTERS_MAX, problem })}
<p class="form-buttons"><button class="main">Save</button>${namesake !== null && html`<button name="replace" value="${namesake}">Replace “${namesake}”</button>`}<a href="${href}">Cancel</a></p></form>`,
  };
}

function readList(form: URLSearchParams) {
  const path = LIST_PATHS.find((each) => each === form.get("path"));
  if (path === undefined) throw new PageError(400, "This page has no views.", "path");
  const query = `${filtersOf(new URLSearchParams(form.get("query") ?? ""))}`;
  return { path, query, href: query === "" ? path : `${path}?${query}` };
}

const readName = (form: URLSearchParams) => (form.get("name") ?? "").trim();

/** The menu of a list's views, and the confirmation of a save. */
export async function loadViewMenu({ db, merchantId, person, path, query }: Visit): Promise<ListViews> {
  const views = await listSavedViews(db, merchantId, person.id, path);
  const saved = views.find(({ name }) => name === query.get(SAVED));
  return {
    menu: savedViewMenu(views, path, query),
    notice: saved && formNotice("good", `The view “${saved.name}” is saved. You find it under Views.`),
  };
}
