import { News } from "../../runtime/lookout.js";

/** There are deliveries to be sent, in this process. */
export const deliveryNews = new News();
