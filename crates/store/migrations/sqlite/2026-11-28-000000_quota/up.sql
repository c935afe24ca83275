-- Budgets that several instances share are kept on PostgreSQL or Redis: one SQLite file has one server.
SELECT 1;
