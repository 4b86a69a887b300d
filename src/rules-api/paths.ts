export const RULES_PATH = "/v1/recovery_rules";
/** As documented, and as a route. */
export const TEST_PATH = `${RULES_PATH}:test`;
export const TEST_ROUTE = `${RULES_PATH}::test`;

/** Returns the route to which a path belongs; null for other paths. */
export const rulesRouteOf = (path: string): string | null => (path === TEST_PATH ? TEST_ROUTE : null);
