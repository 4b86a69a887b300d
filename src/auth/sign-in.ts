import { createHash } from "node:crypto";
import type { Person } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { findPersonByEmail } from "../tables/people.ts";
import { countSignInAttempt, resetSignInAttempts } from "../tables/sign-in-counts.ts";
import { networkOf } from "./client-network.ts";
import { PASSWORD_LENGTH_MAX, type Passwords } from "./password.ts";

/** Tries are counted over so long. */
export const ATTEMPT_WINDOW_MS = 15 * 60_000;
/**
 * Who guesses is stopped by the first; who guesses for many people from one place, by the second; who guesses for one
 * person from many places, by the third. The owner of an address is locked out by others only at the third.
 */
const MAX_ATTEMPTS_BY_SCOPE = { pair: 10, place: 50, person: 100 };

export type SignIn = { person: Person } | { refused: "wrong" | "too_many" | "busy" };

/**
 * Whose e-mail address and password these are. Each try is counted before the password is looked at, for all processes. Where too many wait to be looked
 * at here, one more is none.
 *
 * @param address  from where it comes: its network counts
 */
export async function signIn(
  db: Database,
  { email, password, address }: { email: string; password: string; address: string },
  passwords: Passwords,
  ports: Ports,
): Promise<SignIn> {
  if (passwords.isBusy()) return { refused: "busy" };
  const normal = normalizeEmail(email);
  const network = networkOf(address);
  const realNow = ports.realNow();
  const from = new Date(realNow.getTime() - ATTEMPT_WINDOW_MS);
  const subjects = {
    pair: hashSubject("pair", normal, network),
    place: hashSubject("place", network),
    person: hashSubject("person", normal),
  };
  // The place first: who is refused for it must not leave a row for each person they make up.
  for (const kind of ["place", "pair", "person"] as const)
    if ((await countSignInAttempt(db, subjects[kind], realNow, from)) > MAX_ATTEMPTS_BY_SCOPE[kind])
      return { refused: "too_many" };
  const person = await findPersonByEmail(db, normal);
  const isRight = await passwords.check(password.slice(0, PASSWORD_LENGTH_MAX), person?.password ?? null);
  if (!person || !isRight) return { refused: "wrong" };
  await resetSignInAttempts(db, subjects.pair);
  return { person };
}

const EMAIL_LENGTH_MAX = 255;
// ASCII alone: among other letters there are some that turn into these when they are made small, and would be somebody else's address.
const EMAIL_CHARACTER = String.raw`[^\s@,;:<>()[\]\\"\x00-\x20\x7f-\u{10ffff}]`;
const EMAIL = new RegExp(`^${EMAIL_CHARACTER}{1,64}@${EMAIL_CHARACTER}+\\.${EMAIL_CHARACTER}{2,}$`, "u");
/** Whether this is the e-mail address of one person. */
export const isEmail = (text: string) => text.length <= EMAIL_LENGTH_MAX && EMAIL.test(text);

export const normalizeEmail = (email: string) => email.trim().toLowerCase();

/** Whom tries are counted for. Somebody who mistypes an address should not find it in a table of ours. */
export const hashSubject = (...parts: string[]) => createHash("sha256").update(parts.join("\n")).digest("base64url");
