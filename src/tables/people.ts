import type { Person } from "../domain/person.ts";
import type { Role } from "../domain/role.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const COLUMNS = `id, email, name, password, zone, theme, created_at as "createdAt"`;

const INSERT = prepared(
  "insert_person",
  `insert into people (id, email, name, password, zone, theme, created_at) values ($1, $2, $3, $4, $5, $6, $7)
   on conflict (email) do nothing`,
);

/** False if the address is taken. */
export async function insertPerson(tx: Tx, person: Person) {
  const { id, email, name, password, zone, theme, createdAt } = person;
  return (await tx.run(INSERT, [id, email, name, password, zone, theme, createdAt])).rowCount === 1;
}

const BY_EMAIL = prepared("find_person_by_email", `select ${COLUMNS} from people where email = $1`);

/** @param email  lowercase */
export async function findPersonByEmail(tx: Tx, email: string) {
  return (await tx.run<Person>(BY_EMAIL, [email])).rows[0] ?? null;
}

const SET_PREFERENCES = prepared("set_view_of_person", "update people set zone = $2, theme = $3 where id = $1");

/** The page's other data may be outdated. */
export async function setPreferences(tx: Tx, personId: string, { zone, theme }: Pick<Person, "zone" | "theme">) {
  await tx.run(SET_PREFERENCES, [personId, zone, theme]);
}

const CHANGE_PASSWORD = prepared(
  "change_password",
  "update people set password = $3 where id = $1 and password is not distinct from $2",
);

/**
 * @param former  the verified hash; null: none
 * @returns false if the password has changed meanwhile
 */
export async function changePassword(tx: Tx, personId: string, former: string | null, password: string) {
  return (await tx.run(CHANGE_PASSWORD, [personId, former, password])).rowCount === 1;
}

const DROP_PASSWORD = prepared("drop_password", "update people set password = null where id = $1");

export async function dropPassword(tx: Tx, personId: string) {
  await tx.run(DROP_PASSWORD, [personId]);
}

const HAS_PEOPLE = prepared("anybody", "select exists (select 1 from people) as found");

export async function hasPeople(tx: Tx) {
  return (await tx.run<{ found: boolean }>(HAS_PEOPLE)).rows[0]!.found;
}

const MEMBERSHIPS = prepared(
  "memberships",
  `select b.merchant_id as "merchantId", m.name, b.role from members b join merchants m on m.id = b.merchant_id
   where b.person_id = $1 order by m.name, m.id`,
);

export interface Membership {
  merchantId: string;
  name: string;
  role: Role;
}

/** Ordered by name. */
export async function membershipsOf(tx: Tx, personId: string) {
  return (await tx.run<Membership>(MEMBERSHIPS, [personId])).rows;
}
