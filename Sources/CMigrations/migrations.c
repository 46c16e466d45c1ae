#include "migrations.h"

static const unsigned char create_tenants[] = {
#embed "sql/20260119_create_tenants.sql"
};

static const unsigned char create_chat_sessions[] = {
#embed "sql/20260120_create_chat_sessions.sql"
};

static const unsigned char add_session_id_to_chats[] = {
#embed "sql/20260120_add_session_id_to_chats.sql"
};

static const unsigned char create_read_marks[] = {
#embed "sql/20260121_create_read_marks.sql"
};

static const unsigned char create_tokens[] = {
#embed "sql/20260122_create_tokens.sql"
};

static const unsigned char carry_workspace[] = {
#embed "sql/20261122_carry_workspace.sql"
};

static const unsigned char create_settings[] = {
#embed "sql/20261122_create_settings.sql"
};

static const unsigned char create_records[] = {
#embed "sql/20261122_create_records.sql"
};

static const unsigned char create_row_security[] = {
#embed "sql/20261122_create_row_security.sql"
};

static const unsigned char create_database_epoch[] = {
#embed "sql/20261122_create_database_epoch.sql"
};

static const unsigned char create_quarantine[] = {
#embed "sql/20261122_create_quarantine.sql"
};

static const unsigned char webhook_outbox[] = {
#embed "sql/20261126_webhook_outbox.sql"
};

static const unsigned char create_idempotency[] = {
#embed "sql/20261125_create_idempotency.sql"
};

static const unsigned char create_queue[] = {
#embed "sql/20261123_create_queue.sql"
};

static const unsigned char count_closed[] = {
#embed "sql/20261127_count_closed.sql"
};

static const unsigned char count_analytics[] = {
#embed "sql/20261124_count_analytics.sql"
};

static const unsigned char create_bot_progress[] = {
#embed "sql/20261128_create_bot_progress.sql"
};

static const unsigned char create_gateways[] = {
#embed "sql/20261129_create_gateways.sql"
};

static const unsigned char share_statements[] = {
#embed "sql/20261130_share_statements.sql"
};

static const unsigned char note_revocations[] = {
#embed "sql/20261203_note_revocations.sql"
};

static const unsigned char own_passwords[] = {
#embed "sql/20261202_own_passwords.sql"
};

static const unsigned char claim_by_reply[] = {
#embed "sql/20261204_claim_by_reply.sql"
};

static const unsigned char read_ratings[] = {
#embed "sql/20261205_read_ratings.sql"
};

static const unsigned char seal_tables[] = {
#embed "sql/20261206_seal_tables.sql"
};

static const unsigned char share_new_sessions[] = {
#embed "sql/20261216_share_new_sessions.sql"
};

static const unsigned char normalise_addresses[] = {
#embed "sql/20261215_normalise_addresses.sql"
};

static const unsigned char delete_conversations[] = {
#embed "sql/20261212_delete_conversations.sql"
};

static const unsigned char rotate_signing_keys[] = {
#embed "sql/20261217_rotate_signing_keys.sql"
};

static const unsigned char bind_roles[] = {
#embed "sql/20261220_bind_roles.sql"
};

static const unsigned char describe_logins[] = {
#embed "sql/20261218_describe_logins.sql"
};

static const unsigned char second_factors[] = {
#embed "sql/20261221_second_factors.sql"
};

static const unsigned char oidc[] = {
#embed "sql/20261227_oidc.sql"
};

static const unsigned char follow_application[] = {
#embed "sql/20270130_follow_application.sql"
};

static const unsigned char passkeys[] = {
#embed "sql/20261224_passkeys.sql"
};

static const unsigned char constant_checks[] = {
#embed "sql/20261226_constant_checks.sql"
};

static const unsigned char guard_adoption[] = {
#embed "sql/20261228_guard_adoption.sql"
};

static const unsigned char gateways[] = {
#embed "sql/20261229_gateways.sql"
};

static const unsigned char reader_policies[] = {
#embed "sql/20261230_reader_policies.sql"
};

static const unsigned char upkeep_runs[] = {
#embed "sql/20270205_upkeep_runs.sql"
};

static const unsigned char claim_by_key[] = {
#embed "sql/20270210_claim_by_key.sql"
};

static const unsigned char figures_by_response[] = {
#embed "sql/20270215_figures_by_response.sql"
};

static const unsigned char close_resting[] = {
#embed "sql/20270220_close_resting.sql"
};

static const unsigned char teams[] = {
#embed "sql/20270301_teams.sql"
};

static const unsigned char macros[] = {
#embed "sql/20270305_macros.sql"
};

static const unsigned char saved_views[] = {
#embed "sql/20270310_saved_views.sql"
};

static const unsigned char targets[] = {
#embed "sql/20270311_targets.sql"
};

static const unsigned char watch_visitors[] = {
#embed "sql/20270315_watch_visitors.sql"
};

static const unsigned char analytics_groups[] = {
#embed "sql/20270320_analytics_groups.sql"
};

static const unsigned char web_push[] = {
#embed "sql/20270325_web_push.sql"
};

static const unsigned char rules_by_column[] = {
#embed "sql/20270330_rules_by_column.sql"
};

static const unsigned char assist[] = {
#embed "sql/20270405_assist.sql"
};

static const unsigned char merged_visitors[] = {
#embed "sql/20270410_merged_visitors.sql"
};

static const unsigned char automatic_answers[] = {
#embed "sql/20270420_automatic_answers.sql"
};

static const unsigned char push_texts[] = {
#embed "sql/20270420_push_texts.sql"
};
static const unsigned char attachments[] = {
#embed "sql/20270501_attachments.sql"
};

static const unsigned char mail[] = {
#embed "sql/20270502_mail.sql"
};

static const unsigned char channels[] = {
#embed "sql/20270503_channels.sql"
};

static const unsigned char channel_menus[] = {
#embed "sql/20270504_channel_menus.sql"
};

static const unsigned char mail_replies[] = {
#embed "sql/20270505_mail_replies.sql"
};
static const unsigned char channel_contents[] = {
#embed "sql/20270506_channel_contents.sql"
};

static const unsigned char channel_parts[] = {
#embed "sql/20270507_channel_parts.sql"
};

static const unsigned char mail_alerts[] = {
#embed "sql/20270508_mail_alerts.sql"
};

static const unsigned char count_by_sets[] = {
#embed "sql/20270120_count_by_sets.sql"
};

static const unsigned char seal_secrets[] = {
#embed "sql/20261222_seal_secrets.sql"
};

// In no particular order: each file names its parent. MigratorTests hold this table equal to the folder.
static const chirrup_migration table[] = {
  {"20260119_create_tenants", create_tenants, sizeof create_tenants},
  {"20260120_create_chat_sessions", create_chat_sessions, sizeof create_chat_sessions},
  {"20260120_add_session_id_to_chats", add_session_id_to_chats, sizeof add_session_id_to_chats},
  {"20260121_create_read_marks", create_read_marks, sizeof create_read_marks},
  {"20260122_create_tokens", create_tokens, sizeof create_tokens},
  {"20261122_carry_workspace", carry_workspace, sizeof carry_workspace},
  {"20261122_create_settings", create_settings, sizeof create_settings},
  {"20261122_create_records", create_records, sizeof create_records},
  {"20261122_create_row_security", create_row_security, sizeof create_row_security},
  {"20261122_create_database_epoch", create_database_epoch, sizeof create_database_epoch},
  {"20261122_create_quarantine", create_quarantine, sizeof create_quarantine},
  {"20261126_webhook_outbox", webhook_outbox, sizeof webhook_outbox},
  {"20261123_create_queue", create_queue, sizeof create_queue},
  {"20261127_count_closed", count_closed, sizeof count_closed},
  {"20261125_create_idempotency", create_idempotency, sizeof create_idempotency},
  {"20261124_count_analytics", count_analytics, sizeof count_analytics},
  {"20261128_create_bot_progress", create_bot_progress, sizeof create_bot_progress},
  {"20261129_create_gateways", create_gateways, sizeof create_gateways},
  {"20261130_share_statements", share_statements, sizeof share_statements},
  {"20261202_own_passwords", own_passwords, sizeof own_passwords},
  {"20261203_note_revocations", note_revocations, sizeof note_revocations},
  {"20261204_claim_by_reply", claim_by_reply, sizeof claim_by_reply},
  {"20261205_read_ratings", read_ratings, sizeof read_ratings},
  {"20261206_seal_tables", seal_tables, sizeof seal_tables},
  {"20261216_share_new_sessions", share_new_sessions, sizeof share_new_sessions},
  {"20261215_normalise_addresses", normalise_addresses, sizeof normalise_addresses},
  {"20261218_describe_logins", describe_logins, sizeof describe_logins},
  {"20261221_second_factors", second_factors, sizeof second_factors},
  {"20261226_constant_checks", constant_checks, sizeof constant_checks},
  {"20261227_oidc", oidc, sizeof oidc},
  {"20261228_guard_adoption", guard_adoption, sizeof guard_adoption},
  {"20261229_gateways", gateways, sizeof gateways},
  {"20261230_reader_policies", reader_policies, sizeof reader_policies},
  {"20270205_upkeep_runs", upkeep_runs, sizeof upkeep_runs},
  {"20270210_claim_by_key", claim_by_key, sizeof claim_by_key},
  {"20270215_figures_by_response", figures_by_response, sizeof figures_by_response},
  {"20270220_close_resting", close_resting, sizeof close_resting},
  {"20270301_teams", teams, sizeof teams},
  {"20270305_macros", macros, sizeof macros},
  {"20270310_saved_views", saved_views, sizeof saved_views},
  {"20270311_targets", targets, sizeof targets},
  {"20270315_watch_visitors", watch_visitors, sizeof watch_visitors},
  {"20270320_analytics_groups", analytics_groups, sizeof analytics_groups},
  {"20270325_web_push", web_push, sizeof web_push},
  {"20270330_rules_by_column", rules_by_column, sizeof rules_by_column},
  {"20270405_assist", assist, sizeof assist},
  {"20270410_merged_visitors", merged_visitors, sizeof merged_visitors},
  {"20270420_automatic_answers", automatic_answers, sizeof automatic_answers},
  {"20270420_push_texts", push_texts, sizeof push_texts},
  {"20270501_attachments", attachments, sizeof attachments},
  {"20270502_mail", mail, sizeof mail},
  {"20270503_channels", channels, sizeof channels},
  {"20270504_channel_menus", channel_menus, sizeof channel_menus},
  {"20270505_mail_replies", mail_replies, sizeof mail_replies},
  {"20270506_channel_contents", channel_contents, sizeof channel_contents},
  {"20270507_channel_parts", channel_parts, sizeof channel_parts},
  {"20270508_mail_alerts", mail_alerts, sizeof mail_alerts},
  {"20270130_follow_application", follow_application, sizeof follow_application},
  {"20270120_count_by_sets", count_by_sets, sizeof count_by_sets},
  {"20261224_passkeys", passkeys, sizeof passkeys},
  {"20261212_delete_conversations", delete_conversations, sizeof delete_conversations},
  {"20261217_rotate_signing_keys", rotate_signing_keys, sizeof rotate_signing_keys},
  {"20261220_bind_roles", bind_roles, sizeof bind_roles},
  {"20261222_seal_secrets", seal_secrets, sizeof seal_secrets},
};

const chirrup_migration *chirrup_migrations(unsigned long *count) {
  *count = sizeof table / sizeof table[0];
  return table;
}
