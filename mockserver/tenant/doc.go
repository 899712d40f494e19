// Package tenant keeps the accounts of a server, each with what surrounds it:
// credentials, journals, stubs, faults, key-value store, clock and dialect.
//
//	tenants := tenant.New(tenant.Config{Accounts: accounts, ...})
//	t := tenants.ByToken("token") // nil: no account
//	receipts, err := t.Account.Publish(request)
//
//	credential ──► Registry ──► Tenant ──► Account: all behaviour (package engine)
//	                               ├─ Requests, Deliveries: what went over the wire
//	                               ├─ Stubs, Faults, Rewrites: what deliveries meet
//	                               └─ KV, vector indexes: further doors, each with a token
//
// The registry decides which account a credential opens, and nothing else: who
// may use it is up to the server. Its lock comes before all others; no account is
// called while it is held.
package tenant
