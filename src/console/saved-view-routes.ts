import { deleteView, listSavedViews, saveView } from "../tables/saved-views.ts";
import { type Console, redirectTo } from "./console.ts";
import type { Html } from "./html.ts";
import { PageError } from "./page-error.ts";
import { filtersOf } from "./show/list-page.ts";
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
    const { path, query, href } = readList(form);
    const name = readName(form);
    if (query.length > QUERY_CHARACTERS_MAX) throw new PageError(400, "This view has too many filters to be saved.");
    if (!(await saveView(db, merchantId, person.id, path, { name, query }, ports.now(), VIEWS_MAX)))
      throw new PageError(409, `A list can have ${VIEWS_MAX} views. Delete one first.`);
    return redirectTo(reply, href);
  });
  post("/views/delete", null, async ({ db, merchantId, person, form, reply }) => {
    const { path, href } = readList(form);
    await deleteView(db, merchantId, person.id, path, readName(form));
    return redirectTo(reply, href);
  });
}

function readList(form: URLSearchParams) {
  const path = LIST_PATHS.find((each) => each === form.get("path"));
  if (path === undefined) throw new PageError(400, "This page has no views.", "path");
  const query = `${filtersOf(new URLSearchParams(form.get("query") ?? ""))}`;
  return { path, query, href: query === "" ? path : `${path}?${query}` };
}

function readName(form: URLSearchParams): string {
  const name = (form.get("name") ?? "").trim();
  if (name === "" || name.length > NAME_CHARACTERS_MAX || /\p{Cc}/u.test(name))
    throw new PageError(400, `The name must have 1 to ${NAME_CHARACTERS_MAX} characters.`, "name");
  return name;
}

export async function loadViewMenu({ db, merchantId, person, path, query }: Visit): Promise<Html> {
  return savedViewMenu(await listSavedViews(db, merchantId, person.id, path), path, query);
}
