import { News } from "../../runtime/lookout.js";

export const deliveryNews = new News();
