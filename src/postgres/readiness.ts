import { type Database, prepared } from "./database.ts";

const PING = prepared("ping", "select 1");

/** For `GET /readyz`. */
export async function checkReadiness(db: Database): Promise<{ ok: boolean; problems: string[] }> {
  try {
    await db.run(PING);
    return { ok: true, problems: [] };
  } catch {
    return { ok: false, problems: ["the database does not answer"] };
  }
}
