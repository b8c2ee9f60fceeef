/**
 * What is asked of the Google Play Developer API (androidpublisher v3), as paths below its base
 * URL. Source: developers.google.com/android-publisher/api-ref/rest/v3.
 */

/** `purchases.subscriptionsv2.get` */
export function subscriptionPath(packageName: string, token: string): string {
  return path(packageName, "purchases", "subscriptionsv2", "tokens", token);
}

/** `purchases.productsv2.getproductpurchasev2` */
export function productPath(packageName: string, token: string): string {
  return path(packageName, "purchases", "productsv2", "tokens", token);
}

/** `orders.get` */
export function orderPath(packageName: string, order: string): string {
  return path(packageName, "orders", order);
}

/** `orders.batchGet`: fails as a whole when one of them does not exist. */
export function ordersPath(packageName: string, orders: readonly string[]): string {
  const query = orders.map((order) => `orderIds=${encodeURIComponent(order)}`).join("&");
  return `${path(packageName, "orders:batchGet")}?${query}`;
}

/** `monetization.subscriptions.get` */
export function subscriptionProductPath(packageName: string, product: string): string {
  return path(packageName, "subscriptions", product);
}

/** `monetization.onetimeproducts.get` */
export function oneTimeProductPath(packageName: string, product: string): string {
  return path(packageName, "oneTimeProducts", product);
}

/** `purchases.voidedpurchases.list`: subscriptions too, which it leaves out by default. */
export function voidedPath(packageName: string, query: Readonly<Record<string, string>>): string {
  const asked = new URLSearchParams({ type: "1", maxResults: "1000", ...query });
  return `${path(packageName, "purchases", "voidedpurchases")}?${asked.toString()}`;
}

/** @param parts printable; the method of a custom verb (`orders:batchGet`) keeps its colon */
function path(packageName: string, ...parts: readonly string[]): string {
  const encoded = [packageName, ...parts].map((part) =>
    encodeURIComponent(part).replace("%3AbatchGet", ":batchGet"),
  );
  return `/androidpublisher/v3/applications/${encoded.join("/")}`;
}
