/** Names of the only two channels between page and main (apart from the contract, so that preload carries no schemas). */
export const requestChannel = 'studio:request'
export const eventChannel = 'studio:event'
